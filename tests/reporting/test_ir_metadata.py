"""Headers of run files: YAML behind hashes, which every reader of runs passes over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from trectools_plus import Run, write_run
from trectools_plus.benchmark.report import SourceFile
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.trec_files import read_run
from trectools_plus.reporting import ir_metadata_header
from trectools_plus.reporting.files import write_annotated_runs


def parse(header: str) -> dict[str, Any]:
    """As repro_eval reads it: the first and last line as they stand, hashes stripped between."""
    lines = header.splitlines()
    assert lines[0] == "# ir_metadata.start"
    assert lines[-1] == "# ir_metadata.end"
    assert all(line.startswith("# ") for line in lines)
    loaded: dict[str, Any] = yaml.safe_load("\n".join(line.strip("#") for line in lines[1:-1]))
    return loaded


def test_the_header_holds_what_the_manifest_holds(make_report: Any) -> None:
    report = make_report()
    found = parse(ir_metadata_header(report, "vector"))
    assert found["tag"] == "vector"
    assert found["platform"]["software"]["libraries"]["python"] == ["trectools-plus==0.1.0"]
    assert found["platform"]["operating system"]["platform"] == report.manifest.platform
    assert found["research goal"]["evaluation"]["reported_measures"] == report.measure_names
    assert found["research goal"]["evaluation"]["baseline"] == ["lexical", "vector"]
    assert found["implementation"]["executable"]["cmd"] == report.manifest.command
    assert found["method"]["automatic"] is True
    assert found["data"]["test collection"]["ir_datasets"] == "cranfield"
    assert "actor" not in found


def test_of_a_given_run_no_method_is_claimed(make_report: Any) -> None:
    report = make_report()
    mode = report.modes["vector"]
    source = SourceFile(path="a.run", sha256="0" * 64)
    given = mode.model_copy(update={"run": mode.run.model_copy(update={"source": source})})
    found = parse(
        ir_metadata_header(report.model_copy(update={"modes": {"vector": given}}), "vector")
    )
    assert "implementation" not in found
    assert set(found["method"]) == {"score ties"}


def test_values_that_look_like_comments_or_end_marks_stay_values(make_report: Any) -> None:
    report = make_report()
    command = "x\n# ir_metadata.end\nq Q0 d 1 1.0 t: 'é' #"
    manifest = report.manifest.model_copy(update={"command": command})
    found = parse(ir_metadata_header(report.model_copy(update={"manifest": manifest}), "hybrid"))
    assert found["implementation"]["executable"]["cmd"] == command


def test_annotated_runs_hold_the_same_results(make_report: Any, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    run = Run.from_dict({"1": {"d1": 2.0, "d2": 1.0}})
    report = make_report()
    for mode in report.modes:
        write_run(run, tmp_path / "runs" / f"{mode}.run", tag=mode)
    files = write_annotated_runs(report, tmp_path)
    assert files == [tmp_path / "annotated" / f"{mode}.run" for mode in report.modes]
    for path in files:
        text = path.read_text("utf-8")
        header = text[: text.index("# ir_metadata.end\n") + len("# ir_metadata.end\n")]
        assert header == ir_metadata_header(report, path.stem)
        assert text.removeprefix(header) == (tmp_path / "runs" / path.name).read_text("utf-8")
        assert read_run(path).to_dict() == run.to_dict()


def test_what_is_not_there_is_refused(make_report: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="x"):
        ir_metadata_header(make_report(), "x")
    with pytest.raises(InputError):
        write_annotated_runs(make_report(), tmp_path)
