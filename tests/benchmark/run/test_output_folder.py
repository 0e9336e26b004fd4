"""All files of a benchmark appear together, and a failure leaves those of an earlier one."""

import gc
import hashlib
import json
import multiprocessing
import os
import signal

import pytest

from trectools_plus.benchmark.run.output_folder import OutputFolder, claim_folder
from trectools_plus.errors import InputError


def contents(folder):
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def publish(path, runs):
    folder = OutputFolder(path)
    fill(folder, runs)
    folder.publish()


def fill(folder, runs):
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
    (folder.partial / "BenchmarkReport.json").write_text(json.dumps({"modes": modes}))


def test_files_appear_together_without_leftovers(tmp_path):
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


def test_runs_of_a_replaced_report_are_deleted(tmp_path):
    publish(tmp_path, {"old": "1", "kept": "2", "changed": "3", "both": "4"})
    (tmp_path / "runs" / "changed.run").write_text("by hand")
    (tmp_path / "runs" / "foreign.run").write_text("another's")
    second = OutputFolder(tmp_path)
    second.plan(["runs/both.run"], [tmp_path / "runs" / "kept.run"])
    fill(second, {"both": "5"})
    second.publish()
    runs = contents(tmp_path / "runs")
    assert runs == {"both.run": "5", "kept.run": "2", "changed.run": "by hand",
                    "foreign.run": "another's"}  # fmt: skip


@pytest.mark.parametrize("report", ["{", "[]", '{"modes": {"a": 1}}', '{"modes": {"a": {}}}'])
def test_a_file_that_no_list_names_is_not_replaced(tmp_path, report):
    (tmp_path / "BenchmarkReport.json").write_text(report)
    folder = OutputFolder(tmp_path)
    fill(folder, {"a": "1"})
    with pytest.raises(InputError):
        folder.publish()
    folder.discard()
    assert contents(tmp_path) == {"BenchmarkReport.json": report}


@pytest.mark.parametrize("name", ["../x.run", "runs/../../x.run", "{tmp}/x.run"])
def test_a_list_cannot_name_files_elsewhere(tmp_path, name):
    outside = tmp_path / "x.run"
    outside.write_text("1")
    out = tmp_path / "out"
    publish(out, {"a": "1"})
    digest = hashlib.sha256(b"1").hexdigest()
    with (out / "SHA256SUMS").open("a") as sums:
        sums.write(f"{digest}  {name.format(tmp=tmp_path)}\n")
    publish(out, {})
    assert outside.exists()
    assert not (out / "runs" / "a.run").exists()


def test_a_list_of_others_files_is_no_list_of_a_report(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.run").write_text("user")
    digest = hashlib.sha256(b"user").hexdigest()
    (tmp_path / "SHA256SUMS").write_text(f"{digest}  runs/a.run\n")
    folder = OutputFolder(tmp_path)
    before = {**contents(tmp_path)}
    with pytest.raises(InputError):
        folder.plan(["runs/a.run"], [])
    fill(folder, {"a": "1"})
    with pytest.raises(InputError):
        folder.publish()
    folder.discard()
    assert contents(tmp_path) == before


def test_the_folder_of_a_killed_process_is_removed(tmp_path):
    out = tmp_path / "out"
    publish(out, {"a": "1", "b": "2"})
    before = contents(out)
    killed = multiprocessing.get_context("fork").Process(target=_fill_and_die, args=[out])
    killed.start()
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    [partial] = out.glob(".partial-*")
    for path in (partial, *partial.rglob("*")):
        os.utime(path, (0, 0))
    third = OutputFolder(out)
    assert [path.name for path in out.glob(".partial-*")] == [third.partial.name]
    third.discard()
    assert contents(out) == before


def _fill_and_die(out):
    folder = OutputFolder(out)  # it is removed with the object
    fill(folder, {"a": "3", "c": "4"})
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_folder_of_a_living_process_is_kept(tmp_path):
    first = OutputFolder(tmp_path)
    os.utime(first.partial, (0, 0))
    second = OutputFolder(tmp_path)
    assert first.partial.exists()
    second.discard()
    first.discard()
    assert list(tmp_path.iterdir()) == []


def test_unpublished_files_and_their_folder_are_deleted(tmp_path):
    folder = OutputFolder(tmp_path / "a" / "b")
    fill(folder, {"a": "1"})
    folder.discard()
    assert list(tmp_path.iterdir()) == []
    folder = OutputFolder(tmp_path / "a" / "b")
    del folder
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_folders_instead_of_files_are_named(tmp_path):
    (tmp_path / "BenchmarkReport.json").mkdir()
    folder = OutputFolder(tmp_path)
    fill(folder, {"a": "1"})
    with pytest.raises(InputError):
        folder.publish()
    (tmp_path / "file").write_text("")
    for name in ("file", "file/out"):
        with pytest.raises(InputError, match="file"):
            OutputFolder(tmp_path / name)


def test_two_benchmarks_of_one_second_get_different_folders(tmp_path):
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


def test_errors_name_the_final_place_of_a_file(tmp_path):
    folder = OutputFolder(tmp_path)
    with pytest.raises(InputError) as caught, folder.discarded_on_errors():
        raise InputError("x", where=str(folder.partial / "qrels.txt"))
    assert caught.value.where == str(tmp_path / "qrels.txt")
