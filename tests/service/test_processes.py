"""A service as a process, whose work hangs: time limit, and a service that is killed.

Work that hangs is made by stopping the worker processes with SIGSTOP, which no code can prevent.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
    pytest.mark.slow("sends hostile uploads and ends processes"),
]


class Service:
    """A running service."""

    def __init__(self, folder, *words):
        program = [str(Path(sys.executable).parent / "trectools-plus"), "serve", "--port", "0"]
        # The folders of processes end up here.
        environment = {**os.environ, "TMPDIR": str(folder)}
        log = folder / "log.txt"
        with log.open("w") as file:
            self.process = subprocess.Popen(
                [*program, "--dataset", "none", *words], stderr=file, env=environment
            )
        while not (found := re.search(r"listening on .*:(\d+)$", log.read_text(), re.MULTILINE)):
            assert self.process.poll() is None, log.read_text()
            time.sleep(0.05)
        self.url = f"http://127.0.0.1:{found[1]}"

    def validate(self):
        """Return the status and the document of an answer."""
        headers = {"Content-Type": "text/plain"}
        url = f"{self.url}/v1/validate?kind=qrels"
        answer = httpx.post(url, content=b"q1 0 d1 1\n", headers=headers, timeout=60)
        return answer.status_code, answer.json()

    def workers(self):
        found = []
        for folder in Path("/proc").iterdir():
            try:
                status = (folder / "stat").read_text() if folder.name.isdigit() else ""
            except OSError:
                continue
            if status.rpartition(")")[2].split()[1:2] == [str(self.process.pid)]:
                found.append(int(folder.name))
        return found

    def hang(self):
        """Let all work hang from now on, until its process is replaced."""
        while self.validate()[0] != 200:  # a process has started
            time.sleep(0.05)
        for number in self.workers():
            os.kill(number, signal.SIGSTOP)

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def start(tmp_path):
    started = []

    def begin(*words):
        started.append(Service(tmp_path, *words))
        return started[-1]

    yield begin
    for service in started:
        workers = service.workers()
        service.kill()
        for number in workers:  # they end by themselves, but not while they hang
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


def await_end(numbers):
    for _ in range(200):
        if not any(map(runs, numbers)):
            return
        time.sleep(0.05)
    raise AssertionError(numbers)


def runs(number):
    """Whether a process runs; one that has ended stays in the list until its parent asks."""
    try:
        status = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_work_that_hangs_ends_at_the_time_limit(start, tmp_path):
    service = start("--time-limit", "1")
    service.hang()
    stopped = service.workers()
    status, problem = service.validate()
    assert (status, problem["code"]) == (503, "time-limit")
    await_end(stopped)
    for _ in range(100):  # the new process needs time to start
        status, _ = service.validate()
        if status == 200:
            break
    assert status == 200
    assert not list(tmp_path.glob("trectools-plus-*"))


def test_workers_end_with_a_service_that_is_killed(start):
    """A worker that hangs cannot notice that the service has ended."""
    service = start()
    service.hang()
    stopped = service.workers()
    assert stopped
    service.kill()
    began = time.monotonic()
    await_end(stopped)
    assert time.monotonic() - began < 1
