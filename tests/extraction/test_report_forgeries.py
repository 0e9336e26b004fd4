"""Reports of extractions are verified, also without their documents; forged ones are found."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from harness.forging import edit_json

from trectools_plus.benchmark import verify_report
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.extraction.report import ExtractionSettings, load_extraction_report
from trectools_plus.extraction.runner import ExtractionOptions, run_extraction
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.reporting.document import markdown
from trectools_plus.reporting.results.extraction import (
    extraction_blocks,
    write_extraction,
)
from trectools_plus.reporting.wording import CLAIMS_TITLE
from trectools_plus.statistics.arrays import Resampling

JSON, MARKDOWN = "ExtractionReport.json", "ExtractionReport.md"
PREDICTIONS, GOLD = "predictions.jsonl", "gold.json"
SENTENCE = "better than all others, confirmed by an independent audit"
FEW = Resampling(200)


@pytest.fixture
def folder(collection: Path, obo_path: Path, tmp_path: Path) -> Path:
    """A report with a missed and a spurious term, whose documents are absent."""
    annotations = collection / "small" / "annotations"
    document = json.loads((annotations / "d3.json").read_text())
    document["annotations"] = [{"hpo_id": "X:40"}, {"hpo_id": "Y:1"}, {"hpo_id": "X:42"}]
    (annotations / "d3.json").write_text(json.dumps(document))
    settings = ExtractionSettings(method="dictionary", root="X:0")
    options = ExtractionOptions(resampling=FEW)
    result = run_extraction(collection, ontology=obo_path, settings=settings, options=options)
    assert result.report.mistakes.spurious
    assert result.report.reported
    write_extraction(result, tmp_path / "out")
    shutil.rmtree(collection)
    return tmp_path / "out"


def test_a_report_without_its_documents_is_verified(folder: Path) -> None:
    before = {path: sha256_file(path) for path in folder.iterdir()}
    for path in (folder, folder / JSON):
        found = verify_report(path)
        assert found.problems == []
        assert found.figures > 300
        assert CLAIMS_TITLE in found.unproven[0]
    assert before == {path: sha256_file(path) for path in folder.iterdir()}


OTHERS = [
    {"doc_id": "d1", "hpo_id": "X:2", "score": 0.123456789},
    {"doc_id": "d1", "hpo_id": "X:8", "label": "Nausea", "assertion": "negated"},
    {"doc_id": "d2", "hpo_id": "X:999"},
    {"doc_id": "d2", "hpo_id": "X:43", "score": 0.1 + 0.2},
    {"doc_id": "d2", "hpo_id": "X:42"},
]


@pytest.mark.every(3)
@pytest.mark.parametrize("interval", ["auto", "t", None])
def test_honest_reports_are_verified(
    collection: Path, obo_path: Path, tmp_path: Path, interval: str | None
) -> None:
    (tmp_path / "p.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in OTHERS))
    resampling = Resampling(200, 7, 0.9, interval or "auto")
    for further in ({"predictions": tmp_path / "p.jsonl"}, {}):
        given = ExtractionOptions(**further, intervals=interval is not None, resampling=resampling)  # type: ignore[arg-type]
        result = run_extraction(collection, ontology=obo_path, options=given)
        write_extraction(result, tmp_path / "out")
        found = verify_report(tmp_path / "out")
        assert found.problems == []
        assert len(found.unproven) == 1


def append(name: str, text: str) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        with (folder / name).open("a") as stream:
            stream.write(text)

    return forge


def edit_rows(change: Callable[[list[dict[str, Any]]], Any]) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        rows = [json.loads(line) for line in (folder / PREDICTIONS).read_text().splitlines()]
        change(rows)
        (folder / PREDICTIONS).write_text("".join(f"{json.dumps(one)}\n" for one in rows))

    return forge


def set_figure(document: dict[str, Any]) -> None:
    document["scores"]["any"]["soft"]["weighted"]["f1"]["value"] = 0.99


FORGERIES: dict[str, Callable[[Path], Any]] = {
    "a figure": edit_json(set_figure, JSON),
    "an interval": edit_json(
        lambda d: d["scores"]["present"]["exact"]["micro"]["f1"]["ci"].update(low=0.9), JSON
    ),
    "no interval": edit_json(
        lambda d: d["scores"]["present"]["exact"]["micro"]["f1"].update(ci=None), JSON
    ),
    "a count": edit_json(
        lambda d: d["documents"][0]["counts"]["any"]["soft"].update(gold=1), JSON
    ),
    "a document": edit_json(lambda d: d["documents"].pop(), JSON),
    "the system": edit_json(lambda d: d["system"].update(name=SENTENCE), JSON),
    "the dataset": edit_json(lambda d: d["dataset"].update(name=SENTENCE), JSON),
    "its size": edit_json(lambda d: d["dataset"].update(annotations=5000), JSON),
    "a note": edit_json(lambda d: d["notes"].append(SENTENCE), JSON),
    "the root": edit_json(lambda d: d["manifest"].update(root="X:1"), JSON),
    "no root": edit_json(lambda d: d["manifest"].update(root=None), JSON),
    "the formula": edit_json(lambda d: d["manifest"].update(similarity="hybrid_depth"), JSON),
    "the level": edit_json(lambda d: d["manifest"]["resampling"].update(confidence=0.5), JSON),
    "the seed": edit_json(lambda d: d["manifest"].update(seed=1), JSON),
    "resamples": edit_json(lambda d: d["manifest"]["resampling"].update(resamples=10**12), JSON),
    "a missed term": edit_json(lambda d: d["mistakes"]["missed"].pop(), JSON),
    "a label": edit_json(lambda d: d["mistakes"]["missed"][0].update(label=SENTENCE), JSON),
    "a text": edit_json(lambda d: d["mistakes"]["spurious"][0].update(text=SENTENCE), JSON),
    "a score": edit_json(lambda d: d["mistakes"]["spurious"][0].update(score=0.5), JSON),
    "a key": edit_json(lambda d: d.update(audit=SENTENCE), JSON),
    "Markdown": append(MARKDOWN, f"\n{SENTENCE}\n"),
    "a prediction": edit_rows(lambda rows: rows.pop()),
    "an assertion": edit_rows(lambda rows: rows[0].update(assertion="negated")),
    "a label of a prediction": append(PREDICTIONS, "\n"),
    "an unknown document": edit_rows(lambda rows: rows[0].update(doc_id="d9")),
    "a gold term": edit_json(lambda d: d["documents"][0]["gold"].pop("X:2"), GOLD),
    "a term": edit_json(lambda d: d["terms"].pop(), GOLD),
    "a parent": edit_json(lambda d: d["terms"][-1].update(parents=[]), GOLD),
    "a circle": edit_json(lambda d: d["terms"][0].update(parents=["X:1"]), GOLD),
    "another kind": edit_json(lambda d: d.update(documents=3), GOLD),
    **{
        f"no {name}": lambda folder, name=name: (folder / name).unlink()  # type: ignore[misc]
        for name in (MARKDOWN, PREDICTIONS, GOLD)
    },
}  # fmt: skip


def is_found(folder: Path) -> bool:
    try:
        return bool(verify_report(folder).problems)
    except TrectoolsPlusError:
        return True


@pytest.mark.every(3)
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_report_is_found(folder: Path, name: str) -> None:
    FORGERIES[name](folder)
    assert is_found(folder)


def test_a_report_of_another_version_is_not_verified(folder: Path) -> None:
    edit_json(lambda d: d["manifest"]["packages"].update({"trectools-plus": "9"}), JSON)(folder)
    (folder / GOLD).unlink()
    found = verify_report(folder)
    assert (len(found.problems), found.figures) == (1, 0)


@pytest.mark.parametrize("name", [JSON, MARKDOWN, PREDICTIONS, GOLD])
@pytest.mark.parametrize("kind", ["pipe", "link", "loop"])
def test_files_of_a_report_are_regular_and_inside(folder: Path, name: str, kind: str) -> None:
    (folder / name).rename(folder.parent / name)
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to(name if kind == "loop" else folder.parent / name)
    with suppress(TrectoolsPlusError):
        assert verify_report(folder).problems


@pytest.mark.parametrize("path", ["/dev/zero", "/proc/kmsg", "http://127.0.0.1:9/x", "-"])
def test_paths_of_a_report_are_not_read(
    folder: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("requested"))
    edit_json(lambda d: d["dataset"].update(path=path), JSON)(folder)
    edit_json(lambda d: d["manifest"].update(ontology=path), JSON)(folder)
    edit_json(lambda d: d["system"].update(predictions=path), JSON)(folder)
    (folder / MARKDOWN).write_text(
        markdown(extraction_blocks(load_extraction_report(folder / JSON)))
    )
    assert verify_report(folder).problems == []
