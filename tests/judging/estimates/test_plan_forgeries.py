"""Forged plans of judgments: each forgery is found, whatever its writer computes again."""

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from harness.plans import TIME, label_all, make_small

from trectools_plus.benchmark import verify_report
from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.judging import Label, LabelOptions, PlanFolder, write_judgments
from trectools_plus.judging.endpoint import Prompt
from trectools_plus.judging.estimates import estimate
from trectools_plus.judging.labelling import iter_questions
from trectools_plus.judging.labels import LabelOrigin
from trectools_plus.judging.values import values_of
from trectools_plus.reporting import write_judgment_report

PROMPT = Prompt()
ORIGIN = LabelOrigin(
    model="judge", host="localhost", prompt_sha256=PROMPT.sha256, longest=LabelOptions().longest
)
PROMPT_FILE = f"prompts/{PROMPT.sha256[:16]}.txt"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A plan of 30 queries with judgments, its estimate, and the labels of people."""
    plan = make_small(tmp_path_factory.mktemp("plan"), queries=30, people=25)
    people = label_all(plan, 25)
    grades = {(one.query_id, one.doc_id): one.grade for one in label_all(plan, 30)}
    lines = []
    for number, one in enumerate(iter_questions(plan, LabelOptions().longest)):
        grade = (grades[one.query_id, one.doc_id] or 0) if number % 5 else 1
        label = Label(
            query_id=one.query_id,
            doc_id=one.doc_id,
            grade=grade,
            annotator="judge",
            kind="model",
            time=TIME,
            origin=ORIGIN,
            answer=json.dumps({"reason": "so", "grade": grade}),
            cut=one.cut,
            text_sha256=one.text_sha256,
        )
        lines.append(f"{label.model_dump_json()}\n")
    (plan.path / "labels.jsonl").write_text("".join(lines))
    (plan.path / "prompts").mkdir()
    (plan.path / PROMPT_FILE).write_text(PROMPT.text)
    write_judgment_report(estimate(plan, people=people), plan.path)
    write_judgments(plan, "judge", plan.path, people)
    return plan.path, people


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    source, people = made
    for module in ("verification", "estimates"):
        name = f"trectools_plus.judging.{module}.read_people"
        monkeypatch.setattr(name, lambda _: people)
    return Path(shutil.copytree(source, tmp_path / "plan"))


def estimate_again(folder):
    """Do what a forger does: write the estimate and its pages again, if that is possible."""
    with suppress(TrectoolsPlusError):
        plan = PlanFolder(folder)
        write_judgment_report(estimate(plan), folder)
        write_judgments(plan, None, folder)


def is_found(folder):
    try:
        return bool(verify_report(folder).problems)
    except TrectoolsPlusError:
        return True


def edit_labels(change):
    def forge(folder):
        path = folder / "labels.jsonl"
        labels = [json.loads(line) for line in path.read_text().splitlines()]
        change(labels)
        path.write_text("".join(f"{json.dumps(one)}\n" for one in labels))

    return forge


def edit_plan(change):
    def forge(folder):
        plan = json.loads((folder / "plan.json").read_text())
        change(plan)
        (folder / "plan.json").write_text(json.dumps(plan))

    return forge


def edit_text(name, old, new):
    def forge(folder):
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return forge


def of_all(key, value):
    return edit_labels(lambda labels: [one["origin"].update({key: value}) for one in labels])


def other_model(labels):
    for one in labels:
        one["annotator"] = one["origin"]["model"] = "a better judge"


def duplicate(labels):
    grade = (labels[0]["grade"] + 1) % 4
    labels.append({**labels[0], "grade": grade, "answer": json.dumps({"grade": grade})})


def add_document(folder):
    """Add a pooled document that no run found, with the new hash of the file."""
    path = folder / "pool.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["ranks"] = {"a": 1}
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    edit_plan(lambda plan: plan["files"].update({"pool.jsonl": sha256_file(path)}))(folder)


FORGERIES = {
    "the Markdown": edit_text("JudgmentReport.md", "judge", "expert"),
    "the page": edit_text("JudgmentReport.html", "</body>", "<p>Audited.</p></body>"),
    "the result": edit_text("JudgmentReport.json", '"result": "', '"result": "Audited. '),
    "the judgments of people": edit_text("people.qrels", " 1\n", " 3\n"),
    "the judgments of the model": edit_text("model.qrels", " 1\n", " 3\n"),
    "the model": edit_labels(other_model),
    "the host": of_all("host", "example.org"),
    "the hash of the prompt": of_all("prompt_sha256", "0" * 64),
    "parameters": edit_labels(lambda labels: labels[0]["origin"].update(parameters={"t": 1})),
    "the number of planned queries": edit_plan(lambda plan: plan.update(people=5)),
    "the measures": edit_plan(lambda plan: plan.update(measures=["P@1"])),
}
"""Forgeries of some files, while others stay as they are."""

INCONSISTENT = {
    "a grade": edit_labels(lambda labels: labels[1].update(grade=(labels[1]["grade"] + 1) % 4)),
    "an answer": edit_labels(lambda labels: labels[1].update(answer='{"grade": 9}')),
    "no answer": edit_labels(lambda labels: labels[1].update(answer=None)),
    "a missing grade": edit_labels(lambda labels: labels[1].update(grade=None)),
    "a hash of texts": edit_labels(lambda labels: labels[1].update(text_sha256="0" * 64)),
    "a cut": edit_labels(lambda labels: labels[1].update(cut=True)),
    "a later duplicate": edit_labels(duplicate),
    "a name of the model": edit_labels(lambda labels: labels[1].update(annotator="expert")),
    "the hash of the prompt": of_all("prompt_sha256", "0" * 64),
    "the prompt": edit_text(PROMPT_FILE, "not relevant", "relevant"),
    "the pool": add_document,
    "the order": edit_plan(lambda plan: plan["queries"].reverse()),
    "the seed": edit_plan(lambda plan: plan.update(seed=7)),
    "the number of pairs": edit_plan(lambda plan: plan.update(pooled=plan["pooled"] + 1)),
    "a sentence": edit_plan(lambda plan: plan["left_out"].update(q="judged by an auditor")),
}
"""Forgeries that no estimate made again can hide."""


def test_an_unchanged_plan_is_verified_and_nothing_written(folder):
    before = {path: sha256_file(path) for path in folder.rglob("*") if path.is_file()}
    found = verify_report(folder)
    assert found.problems == []
    assert found.figures > 0
    assert {path: sha256_file(path) for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.every(2)
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_file_of_a_plan_is_found(folder, name):
    FORGERIES[name](folder)
    assert is_found(folder)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", INCONSISTENT)
def test_a_forged_plan_is_found_although_all_is_computed_again(folder, name):
    INCONSISTENT[name](folder)
    estimate_again(folder)
    assert is_found(folder)


def test_an_estimate_of_another_version_is_not_verified(folder):
    path = folder / "JudgmentReport.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": "0.0.9"}))
    found = verify_report(folder)
    assert found.figures == 0
    assert len(found.problems) == 1


@pytest.mark.parametrize("measure", ["evil_plan:Measure", "MaxOntSim(ontology='http://h/x')@2"])
def test_a_plan_runs_no_code(folder, monkeypatch, measure):
    (folder / "evil_plan.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    edit_plan(lambda plan: plan.update(measures=[measure]))(folder)
    monkeypatch.chdir(folder)
    plan = PlanFolder(folder)
    for use in (lambda: estimate(plan), lambda: values_of(plan, [])):
        with pytest.raises(UsageError):
            use()
    document = json.loads((folder / "JudgmentReport.json").read_text())
    (folder / "JudgmentReport.json").write_text(json.dumps({**document, "measures": [measure]}))
    assert verify_report(folder).problems
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("path", ["../x.run", "/dev/zero", "http://h/x", "runs/../../x", "a\nb"])
def test_a_plan_names_only_files_of_its_folder(folder, path):
    edit_plan(lambda plan: plan["runs"][0].update(path=path))(folder)
    with pytest.raises(InputError):
        PlanFolder(folder)


@pytest.mark.parametrize("name", ["plan.json", "pool.jsonl", "labels.jsonl", "people.qrels"])
def test_no_file_of_a_plan_is_a_pipe_or_a_link_to_another_folder(folder, name):
    for replaced in ("pipe", "link"):
        (folder / name).unlink()
        if replaced == "pipe":
            os.mkfifo(folder / name)
        else:
            (folder / name).symlink_to("/dev/zero")
        assert is_found(folder)
