"""Reports of extractions are verified, also without their documents; forged ones are found."""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from harness.tables import cases_of

from trectools_plus.benchmark import verify_report
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.extraction.report import ExtractionSettings, load_extraction_report
from trectools_plus.extraction.runner import ExtractionOptions, run_extraction
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.reporting.benchmark import CLAIMS_TITLE
from trectools_plus.reporting.document import markdown
from trectools_plus.reporting.extraction import (
    extraction_blocks,
    write_extraction,
)
from trectools_plus.statistics.arrays import Resampling

JSON, MARKDOWN = "ExtractionReport.json", "ExtractionReport.md"
PREDICTIONS, GOLD = "predictions.jsonl", "gold.json"
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


FORGERIES: dict[str, list[Any]] = {
    **cases_of(__file__, "forgeries"),
    **{f"no {name}": [name] for name in (MARKDOWN, PREDICTIONS, GOLD)},
}
"""A file, the keys to a value in it, and the new value.

Without keys, text is added at the end; without a value, the old one goes.
"""


def forge(path: Path, keys: str | None = None, *values: Any) -> None:
    if keys is None:
        path.unlink()
    elif not keys:
        path.write_text(f"{path.read_text()}\n{values[0]}\n")
    else:
        is_lines = path.suffix == ".jsonl"
        document = json.loads(
            f"[{','.join(path.read_text().splitlines())}]" if is_lines else path.read_text()
        )
        *steps, last = (int(key) if re.fullmatch("-?[0-9]+", key) else key for key in keys.split())
        place = document
        for step in steps:
            place = place[step]
        if values:
            place[last] = values[0]
        else:
            place.pop(last)
        lines = document if is_lines else [document]
        path.write_text(
            "".join(
                f"{json.dumps(line, ensure_ascii=False, indent=None if is_lines else 2)}\n"
                for line in lines
            )
        )


def is_found(folder: Path) -> bool:
    try:
        return bool(verify_report(folder).problems)
    except TrectoolsPlusError:
        return True


@pytest.mark.every(3)
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_report_is_found(folder: Path, name: str) -> None:
    file, *change = FORGERIES[name]
    forge(folder / file, *change)
    assert is_found(folder)


def test_a_report_of_another_version_is_not_verified(folder: Path) -> None:
    forge(folder / JSON, "manifest packages trectools-plus", "9")
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
    for keys in ("dataset path", "manifest ontology", "system predictions"):
        forge(folder / JSON, keys, path)
    (folder / MARKDOWN).write_text(
        markdown(extraction_blocks(load_extraction_report(folder / JSON)))
    )
    assert verify_report(folder).problems == []
