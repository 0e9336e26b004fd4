"""All files of a benchmark appear together, and a failure leaves those of an earlier one."""

from __future__ import annotations

import gc
import hashlib
import json
from pathlib import Path

import pytest

from trectools_plus.benchmark.run.output_folder import OutputFolder, claim_folder
from trectools_plus.errors import InputError


def contents(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def fill(folder: OutputFolder, runs: dict[str, str], report: str | None = None) -> None:
    for name, text in runs.items():
        (folder.partial / "runs" / f"{name}.run").write_text(text)
    modes = {
        name: {
            "run": {
                "path": f"runs/{name}.run",
                "sha256": hashlib.sha256(text.encode()).hexdigest(),
            }
        }
        for name, text in runs.items()
    }
    text = json.dumps({"modes": modes}) if report is None else report
    (folder.partial / "BenchmarkReport.json").write_text(text)


def test_files_appear_together_without_leftovers(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "a" / "b")
    fill(folder, {"x": "1"})
    assert not (tmp_path / "a" / "b" / "runs").exists()
    folder.publish()
    assert set(contents(tmp_path / "a")) == {
        "b/runs/x.run",
        "b/BenchmarkReport.json",
        "b/SHA256SUMS",
    }
    assert not list(tmp_path.rglob(".partial-*"))


def test_runs_of_a_replaced_report_are_deleted(tmp_path: Path) -> None:
    first = OutputFolder(tmp_path)
    fill(first, {"old": "1", "kept": "2", "changed": "3", "both": "4"})
    first.publish()
    (tmp_path / "runs" / "changed.run").write_text("by hand")
    (tmp_path / "runs" / "foreign.run").write_text("another's")
    second = OutputFolder(tmp_path)
    fill(second, {"both": "5"})
    second.publish(keep=frozenset({(tmp_path / "runs" / "kept.run").resolve()}))
    runs = contents(tmp_path / "runs")
    assert runs == {"both.run": "5", "kept.run": "2", "changed.run": "by hand",
                    "foreign.run": "another's"}  # fmt: skip


@pytest.mark.parametrize("report", ["{", "[]", '{"modes": {"a": 1}}', '{"modes": {"a": {}}}'])
def test_a_file_that_is_not_a_report_names_no_runs(tmp_path: Path, report: str) -> None:
    (tmp_path / "BenchmarkReport.json").write_text(report)
    folder = OutputFolder(tmp_path)
    fill(folder, {"a": "1"})
    folder.publish()
    assert (tmp_path / "runs" / "a.run").read_text() == "1"


def test_a_report_cannot_name_files_elsewhere(tmp_path: Path) -> None:
    outside = tmp_path / "x.run"
    outside.write_text("1")
    sha256 = hashlib.sha256(b"1").hexdigest()
    out = tmp_path / "out"
    out.mkdir()
    run = {"path": "runs/../../x.run", "sha256": sha256}
    (out / "BenchmarkReport.json").write_text(json.dumps({"modes": {"a": {"run": run}}}))
    folder = OutputFolder(out)
    fill(folder, {})
    folder.publish()
    assert outside.exists()


def test_a_move_that_fails_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = OutputFolder(tmp_path)
    fill(first, {"a": "1", "b": "2"})
    first.publish()
    before = contents(tmp_path)
    second = OutputFolder(tmp_path)
    fill(second, {"a": "3"})
    replace = Path.replace

    def full(source: Path, target: Path) -> Path:
        if source.name == "BenchmarkReport.json" and source.parent == second.partial:
            raise OSError(28, "No space left on device")
        return replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(InputError, match="No space left"):
            second.publish()
    second.discard()
    assert contents(tmp_path) == before


def test_unpublished_files_and_their_folder_are_deleted(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "a" / "b")
    fill(folder, {"a": "1"})
    folder.discard()
    assert list(tmp_path.iterdir()) == []
    folder = OutputFolder(tmp_path / "a" / "b")
    del folder
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_folders_instead_of_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "BenchmarkReport.json").mkdir()
    folder = OutputFolder(tmp_path)
    fill(folder, {"a": "1"})
    with pytest.raises(InputError, match="is a folder"):
        folder.publish()
    (tmp_path / "file").write_text("")
    for name in ("file", "file/out"):
        with pytest.raises(InputError, match="file"):
            OutputFolder(tmp_path / name)


def test_two_benchmarks_of_one_second_get_different_folders(tmp_path: Path) -> None:
    claimed = [claim_folder(tmp_path / "results", "20250131-120000-aa") for _ in range(3)]
    assert [name for name, _ in claimed] == [
        "20250131-120000-aa",
        "20250131-120000-aa-2",
        "20250131-120000-aa-3",
    ]
    assert [folder.path.name for _, folder in claimed] == [name for name, _ in claimed]
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError):
        claim_folder(tmp_path / "file", "x")


def test_errors_name_the_final_place_of_a_file(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    with pytest.raises(InputError) as caught, folder.final_names():
        raise InputError("x", where=str(folder.partial / "qrels.txt"))
    assert caught.value.where == str(tmp_path / "qrels.txt")
