"""Processes that are asked to end while the user's code, or a service, hangs; and go on later."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from harness.program import Program, Started

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals of POSIX"),
    pytest.mark.process,
    pytest.mark.slow("ends processes"),
]

RETRIEVER = """
import os, time
from pathlib import Path

def ignore():
    while True:
        try:
            time.sleep(1)
        except BaseException:
            pass

def sleep():
    time.sleep(600)

def loop():
    while True:
        pass

def search(text, depth):
    if text == "text 2" and "HANG" in os.environ:
        Path("hangs").write_text(str(os.getpid()))
        globals()[os.environ["HANG"]]()
    return [(f"d{n}", len(text) * 10 - n) for n in range(3)]

class Indexed:
    def index(self, corpus):
        Path("hangs").touch()
        sleep()
    def search(self, queries, depth):
        return [search(query, depth) for query in queries]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with a retriever, four topics and their judgments."""
    return fill(tmp_path)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, program: Program) -> bytes:
    """The run that nobody interrupts."""
    folder = fill(tmp_path_factory.mktemp("uninterrupted"))
    finish(fetch(program, folder, "runs"))
    return (folder / "runs" / "mine.run").read_bytes()


def fill(tmp_path: Path) -> Path:
    """Write what the commands read."""
    (tmp_path / "mine.py").write_text(RETRIEVER)
    (tmp_path / "topics.tsv").write_text("".join(f"q{n}\ttext {n}\n" for n in range(4)))
    (tmp_path / "qrels.txt").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(4)))
    (tmp_path / "corpus.jsonl").write_text('{"doc_id": "d1", "text": "a"}\n')
    return tmp_path


def begin(program: Program, folder: Path, *words: object, hang: str | None = None) -> Started:
    """Start a command in the folder."""
    (folder / "hangs").unlink(missing_ok=True)
    variables = {} if hang is None else {"HANG": hang}
    return program.start(["trectools-plus", *words], folder, **variables)


def end(process: Started, hangs: Any, *numbers: int) -> None:
    """Send signals once it hangs, and check that it ends by them."""
    try:
        while not hangs() and process.poll() is None:
            time.sleep(0.01)
        for number in numbers:
            time.sleep(0.3)
            process.send_signal(number)
        process.wait(timeout=30)
    finally:
        process.kill()
    error = process.stderr.read_text()
    assert process.code in (128 + numbers[-1], -signal.SIGKILL), error
    assert "Traceback" not in error


def fetch(
    program: Program, folder: Path, name: str, *more: str, hang: str | None = None
) -> Started:
    words = ["runs", "fetch", "--topics", "topics.tsv", "--retriever", "mine=mine:search"]
    return begin(program, folder, *words, "--output-dir", name, *more, hang=hang)


def finish(process: Started) -> None:
    assert process.wait(timeout=60) == 0, process.stderr.read_text()


@pytest.mark.parametrize(
    ("hang", "number"),
    [
        *((hang, signal.SIGTERM) for hang in ("sleep", "loop", "ignore")),
        ("sleep", signal.SIGINT),
        ("loop", signal.SIGKILL),
    ],
)
def test_a_function_that_hangs_is_ended_and_its_fetch_resumed(
    program: Program, folder: Path, hang: str, number: int, uninterrupted: bytes
) -> None:
    end(fetch(program, folder, "runs", hang=hang), (folder / "hangs").exists, number)
    assert_ended(folder / "hangs")
    lines = (folder / "runs" / "mine.run.journal").read_text().splitlines()
    # What was answered before is there, and nothing that the signal made the function return.
    answered = {entry["query_id"]: entry["status"] for entry in map(json.loads, lines[1:])}
    assert answered == {"q0": "ok", "q1": "ok"}
    finish(fetch(program, folder, "runs", "--resume"))
    assert (folder / "runs" / "mine.run").read_bytes() == uninterrupted


def assert_ended(path: Path) -> None:
    """Check that the process whose id is in a file has ended."""
    command = ["ps", "-o", "stat=", "-p", path.read_text()]
    state = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert state.strip()[:1] in ("", "Z"), state


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_service_that_hangs_is_not_waited_for(
    program: Program, start: Any, folder: Path, number: int, concurrency: int
) -> None:
    # The queries that stall are not in the sample that is sent one at a time for the latency.
    stalling = {"q56", "q57", "q58"}
    ids = [f"q{n:02}" for n in range(60)]
    topics = [f"{name}\t{'stall 20' if name in stalling else 'a'}\n" for name in ids]
    (folder / "topics.tsv").write_text("".join(topics))
    service = start()
    config = f"http: {{url: '{service.url}', concurrency: {concurrency}, timeout: 500}}\n"
    (folder / "service.yaml").write_text(config)
    words = ["runs", "fetch", "--config", "service.yaml", "--modes", "dense", "--topics"]
    process = begin(program, folder, *words, "topics.tsv", "--output-dir", "runs")

    def hangs() -> bool:
        return len(stalling.intersection(service.asked())) == concurrency

    end(process, hangs, number)
    asked = len(service.asked())
    lines = (folder / "runs" / "dense.run.journal").read_text().splitlines()[1:]
    kept = [json.loads(line)["query_id"] for line in lines]
    assert len(kept) == asked - concurrency
    assert stalling.isdisjoint(kept)
