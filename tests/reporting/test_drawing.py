"""Plots drawn in another process are those of this process, and its failure changes nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from trectools_plus import BenchmarkConfig, run_benchmark, write_reports
from trectools_plus.reporting import drawing
from trectools_plus.reporting.drawing import DrawingProcess, Images

GARDEN = Path(__file__).parents[2] / "fixtures" / "garden-beir"


def images_of(pid: int) -> Images:
    """Return the id of the process that calls this, and whether it is another one."""
    return {
        "process": str(os.getpid()).encode(),
        "other": str(os.getpid() != pid).encode(),
    }


def fail_elsewhere(pid: int) -> Images:
    if os.getpid() != pid:
        raise RuntimeError("cannot draw")
    return images_of(pid)


def exit_elsewhere(pid: int) -> Images:
    if os.getpid() != pid:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    return images_of(pid)


def print_elsewhere(pid: int) -> Images:
    print("not an image")
    return images_of(pid)


@pytest.fixture(autouse=True)
def processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_processors", lambda: 2)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_other_process_draws_and_has_ended_afterwards() -> None:
    with DrawingProcess() as process:
        process.start(partial(print_elsewhere, os.getpid()))
        images = process.finish()
    assert images["other"] == b"True"
    assert not is_running(int(images["process"]))


@pytest.mark.parametrize("draw", [fail_elsewhere, exit_elsewhere])
def test_if_the_other_process_fails_this_one_draws(draw: object) -> None:
    with DrawingProcess() as process:
        process.start(partial(draw, os.getpid()))  # type: ignore[call-overload]
        assert process.finish()["other"] == b"False"


def test_objects_that_cannot_be_sent_are_drawn_here() -> None:
    with DrawingProcess() as process:
        process.start(lambda: {"here": b""})
        assert process.finish() == {"here": b""}


@pytest.mark.parametrize("missing", ["processor", "interpreter", "name of the interpreter"])
def test_without_another_process_this_one_draws(
    missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if missing == "processor":
        monkeypatch.setattr(drawing, "_processors", lambda: 1)
    else:
        path = str(tmp_path / "python") if missing == "interpreter" else ""
        monkeypatch.setattr(sys, "executable", path)
    with DrawingProcess() as process:
        process.start(partial(images_of, os.getpid()))
        assert process.finish()["other"] == b"False"


def start_and_interrupt(process: DrawingProcess) -> None:
    process.start(partial(images_of, os.getpid()))
    raise KeyboardInterrupt


def test_an_error_ends_the_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen[bytes]):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    with pytest.raises(KeyboardInterrupt), DrawingProcess():
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt), DrawingProcess() as process:
        start_and_interrupt(process)
    assert [one.poll() is not None for one in started] == [True, True]


def test_a_report_has_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    contents = []
    for name in ("here", "there"):
        config = BenchmarkConfig(
            dataset=str(GARDEN), modes=["lexical", "vector", "hybrid"], output_dir=tmp_path / name
        )
        result = run_benchmark(config)
        if name == "here":
            files = write_reports(result)
        else:
            with DrawingProcess() as process:
                files = write_reports(result, drawing=process)
                assert process._process is not None
                assert process._process.returncode == 0
        assert not any(path.name.startswith(".") for path in (tmp_path / name).iterdir())
        contents.append({key: files[key].read_bytes() for key in files if key.endswith("g")})
    assert contents[0] == contents[1]
    assert len(contents[0]) >= 10
    assert list(contents[0]) == list(contents[1])
