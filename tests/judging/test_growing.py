"""Judgments that grow: further runs, answers and qrels cost only what is new."""

import json
from contextlib import closing

import pytest
from harness.plans import label_all, make_small, topics_of, write_corpus, write_runs

from trectools_plus.errors import UsageError
from trectools_plus.formats import Qrels, load_corpus
from trectools_plus.judging import (
    Labelling,
    LabelOptions,
    PlanOptions,
    extend_plan,
    record_estimate,
    write_judgments,
)
from trectools_plus.judging.endpoint import (
    DEFAULT_PROMPT,
    Prompt,
    Reply,
    find_relevant_level,
    read_reply,
)
from trectools_plus.judging.estimates import estimate
from trectools_plus.judging.judgments import (
    begin_session,
    find_annotator,
    find_session_annotator,
    record_labels,
)
from trectools_plus.judging.labels import LabelOrigin, Usage, read_labels, read_people
from trectools_plus.judging.plan import make_plan
from trectools_plus.judging.report import check_order
from trectools_plus.judging.store import load_plan_material, open_store
from trectools_plus.judging.values import find_complete
from trectools_plus.judging.verification import verify_plan
from trectools_plus.service import import_judgments
from trectools_plus.service.review.app import review_app
from trectools_plus.service.review.controller import Reviewer


class Judge:
    """A judge with a prompt that notes which texts it was asked about."""

    concurrency = 1

    def __init__(self, prompt="{query} {document}", usage=None):
        self.prompt = Prompt(prompt)
        self.origin = LabelOrigin(model="judge", host="localhost", prompt_sha256=self.prompt.sha256)
        self.asked = []
        self._usage = usage

    def ask(self, query, document):
        self.asked.append((query, document))
        return Reply(json.dumps({"grade": len(query + document) * 7 % 4}), usage=self._usage)

    def close(self):
        """Do nothing."""


def ask(plan, judge, **options):
    with closing(Labelling(plan, judge, LabelOptions(**options))) as labelling:
        return labelling.run()


def judge_on_page(plan, queries, name="Anna", *, last=0):
    """Record grades of all documents of the first queries that lack one."""
    before = {(label.query_id, label.doc_id) for label in read_people(plan.path)}
    rows = [
        (label.query_id, label.doc_id, label.grade)
        for label in label_all(plan, queries)
        if (label.query_id, label.doc_id) not in before
    ]
    store = open_store(plan.path / "review.db", load_plan_material(plan), plan.plan.seed)
    with closing(store):
        secret = begin_session(store, name, resume=bool(before))
        person = find_session_annotator(store, secret or "")
        record_labels(store, person, rows[: len(rows) - last], "")


def extend(plan, folder, name, seed):
    runs = write_runs(folder, (name,), len(plan.plan.queries), seed)
    return extend_plan(plan, runs, folder / f"with-{name}", load_corpus(write_corpus(folder)))


@pytest.fixture
def judged(tmp_path):
    """A plan of 30 queries that a model and people have judged."""
    plan = make_small(tmp_path, queries=30, people=22)
    ask(plan, Judge())
    judge_on_page(plan, 22)
    return plan


def test_an_extended_plan_asks_only_new_pairs(judged, tmp_path):
    old = judged
    for number, name in enumerate("cd", 1):
        new = extend(old, tmp_path, name, seed=number)
        assert new.plan.queries == old.plan.queries
        assert [run.name for run in new.plan.runs] == [*old.runs, name]
        assert [run.extension for run in new.plan.runs] == [0, 0, *range(1, number + 1)]
        pairs = {pair for pair, at in new.extension_of.items() if at == number}
        assert pairs == new.extension_of.keys() - old.extension_of.keys()
        assert new.new_pairs == new.plan.pooled - old.plan.pooled == len(pairs) > 0
        assert read_people(new.path) == read_people(old.path)
        assert read_labels(new.path / "labels.jsonl") == read_labels(old.path / "labels.jsonl")
        judge = Judge()
        summary = ask(new, judge)
        assert (summary.calls, summary.reused) == (len(pairs), old.plan.pooled)
        assert set(judge.asked) == {
            (new.topics[query_id], f"{new.documents[doc_id].title}\n{new.documents[doc_id].text}")
            for query_id, doc_id in pairs
        }
        judge_on_page(new, 22)
        assert list(find_complete(new, read_people(new.path)).grades) == new.plan.queries[:22]
        report = estimate(new)
        assert (report.refusal, report.counts.people) == (None, 22)
        write_judgments(new, None, new.path)
        (tmp_path / f"scratch-{name}").mkdir()
        assert verify_plan(new, tmp_path / f"scratch-{name}").problems == []
        old = new


def test_an_extension_keeps_the_texts_that_were_judged(tmp_path):
    judged = make_small(tmp_path, queries=3)
    runs = write_runs(tmp_path, ("c",), 3, seed=1)
    file = write_corpus(tmp_path)
    file.write_text(file.read_text().replace("Text", "Changed"))
    with pytest.raises(UsageError, match="--corpus"):
        extend_plan(judged, runs, tmp_path / "none")
    new = extend_plan(judged, runs, tmp_path / "new", load_corpus(file))
    assert {name: new.documents[name] for name in judged.documents} == judged.documents
    with pytest.raises(UsageError, match="same names: a"):
        extend_plan(judged, write_runs(tmp_path, ("a",), 3), tmp_path / "other")
    write_corpus(tmp_path)
    again = extend_plan(judged, runs, tmp_path / "again")
    assert (again.plan.people, again.plan.depth) == (judged.plan.people, judged.plan.depth)


def test_answers_are_reused_across_plans_if_all_is_equal(judged, tmp_path):
    runs = write_runs(tmp_path, "bc", 30)
    corpus = load_corpus(write_corpus(tmp_path))
    options = PlanOptions(depth=4, measures=("P@4",))

    def make(name):
        return make_plan(runs, topics_of(30), corpus, tmp_path / name, options)

    other = make("other")
    shared = {*judged.extension_of} & {*other.extension_of}
    summary = ask(other, Judge(), reuse=[judged.path])
    assert (summary.reused, summary.calls) == (len(shared), other.plan.pooled - len(shared))
    assert shared
    assert summary.left == 0
    grades = {
        (label.query_id, label.doc_id): label.grade
        for label in read_labels(judged.path / "labels.jsonl")
    }
    for label in read_labels(other.path / "labels.jsonl"):
        if (label.query_id, label.doc_id) in shared:
            assert label.grade == grades[label.query_id, label.doc_id]
    assert ask(make("changed"), Judge("{query}\n{document}"), reuse=[judged.path]).reused == 0
    forged = judged.path / "labels.jsonl"
    forged.write_text(forged.read_text().replace('"grade":2', '"grade":3'))
    least = sum(grades[pair] != 2 for pair in shared)
    assert ask(make("forged"), Judge(), reuse=[judged.path]).reused == least


def test_tokens_are_stored_and_priced(tmp_path):
    answer = {"choices": [{"message": {"content": "{}"}}]}
    usage = {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320}
    assert read_reply({**answer, "usage": usage}).usage == Usage(
        prompt_tokens=300, completion_tokens=20
    )
    for unusable in (None, {}, {"prompt_tokens": -1, "completion_tokens": 2}, "many"):
        assert read_reply({**answer, "usage": unusable}).usage is None
    plan = make_small(tmp_path, queries=2)
    summary = ask(plan, Judge(usage=Usage(prompt_tokens=300, completion_tokens=20)))
    number = plan.plan.pooled
    assert summary.usage == Usage(prompt_tokens=300 * number, completion_tokens=20 * number)
    cost = number * (300 * 2.0 + 20 * 8.0) / 1e6
    assert summary.as_dict((2.0, 8.0))["cost"] == pytest.approx(cost)
    assert "cost" not in summary.as_dict()
    assert ask(plan, Judge("{document} {query}")).as_dict((2.0, 8.0))["cost"] is None


@pytest.mark.parametrize(
    ("prompt", "level"),
    [
        (DEFAULT_PROMPT, 2),
        ("Grades: 0, 1, 2 or 3.", 1),
        ("0 - irrelevant\n1 - partially relevant: it helps\n2 - relevant", 1),
        (
            "* 3: perfectly relevant\n* 2: highly relevant\n* 1: related\n* 0: relevant to nothing",
            2,
        ),
        ("1 = not relevant, but related\n2 = non-relevant\n3 = relevant", 3),
    ],
)
def test_the_prompt_declares_which_grades_are_relevant(prompt, level):
    assert find_relevant_level(prompt) == level


def test_an_estimate_counts_what_the_prompt_calls_relevant(tmp_path):
    plan = make_small(tmp_path, queries=30, people=22)
    ask(plan, Judge(DEFAULT_PROMPT))
    judge_on_page(plan, 22)
    report = estimate(plan, measures=["P@4", "nDCG@4", "RR(rel=1)@4"])
    assert report.relevant == 2
    assert report.measures == ["P(rel=2)@4", "nDCG@4", "RR(rel=1)@4"]
    from_one = estimate(plan, measures=["P@4", "RR@4"], relevant=1)
    assert (from_one.relevant, from_one.measures) == (1, ["P@4", "RR@4"])
    explicit = estimate(plan, measures=["P(rel=2)@4"], relevant=1)
    assert explicit.estimates[0].estimates == report.estimates[0].estimates
    means = [one.estimates[0].model.mean for one in (report.estimates[0], from_one.estimates[0])]
    assert means[0] < means[1]


def test_an_estimate_lists_those_before_it(judged, tmp_path):
    first = estimate(judged)
    assert first.earlier == []
    record_estimate(judged, first)
    record_estimate(judged, first)
    assert estimate(judged) == first
    second = estimate(judged, measures=["P@4"])
    assert [look.measures for look in second.earlier] == [["nDCG@4", "P@4"]]
    assert any("estimate 2 " in warning for warning in second.warnings)
    record_estimate(judged, second)
    assert estimate(judged) == first
    new = extend(judged, tmp_path, "c", seed=1)
    ask(new, Judge())
    judge_on_page(new, 22)
    third = estimate(new)
    assert [look.people for look in third.earlier] == [22, 22]


def _qrels(labels):
    rows = {}
    for label in labels:
        rows.setdefault(label.query_id, {})[label.doc_id] = label.grade or 0
    return Qrels.from_dict(rows)


def test_imported_judgments_of_a_part_are_completed_by_people(tmp_path):
    plan = make_small(tmp_path, queries=6, depth=12, measures=("P@4",))
    labels = label_all(plan, 3)
    first, second, third = plan.plan.queries[:3]
    sizes = {query_id: len(plan.judgeable[query_id]) for query_id in (first, second, third)}
    assert min(sizes.values()) >= 10
    drop = {(first, doc_id) for doc_id in plan.judgeable[first][:1]}
    drop |= {(second, doc_id) for doc_id in plan.judgeable[second][:3]}
    part = [label for label in labels if (label.query_id, label.doc_id) not in drop]
    found = import_judgments(plan, _qrels(part), "Anna")
    assert (found.graded, found.missing, found.open) == (len(part), 4, 1)
    people = read_people(plan.path)
    reasons = {(label.query_id, label.doc_id) for label in people if label.grade is None}
    assert reasons == {pair for pair in drop if pair[0] == first}
    assert list(find_complete(plan, people).grades) == [first]
    app = review_app(plan.path, plan.path / "review.db")  # the page asks about the rest
    controller = app.state.controller
    anna = find_annotator(controller.store, "Anna")
    assert [one.judged for one in Reviewer(controller, anna).offered()] == [
        sizes[first],
        sizes[second] - 3,
    ]
    controller.store.close()
    # What is there already is not imported again, and the rest continues in the plan's order.
    again = import_judgments(plan, _qrels(labels), "Anna")
    assert (again.graded, again.open) == (4, 0)
    people = read_people(plan.path)
    assert list(find_complete(plan, people).grades) == [first, second, third]
    assert check_order(plan, people) is None
    other = [label.model_copy(update={"grade": 3 - (label.grade or 0)}) for label in labels[:1]]
    with pytest.raises(UsageError, match="another name"):
        import_judgments(plan, _qrels(other), "Anna")
