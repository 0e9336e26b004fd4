"""Copies of this process do a share of the work, and neither their end nor its own leaves any."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trectools_plus.distributed import copies
from trectools_plus.distributed.copies import ProcessCopies

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux copies processes")


@pytest.fixture
def two_processes(monkeypatch):
    monkeypatch.setattr(copies, "_count_processors", lambda: 2)
    monkeypatch.setattr(copies, "can_copy_process", lambda: sys.platform == "linux")
    started = []
    if sys.platform == "linux":
        fork = os.fork
        monkeypatch.setattr(copies.os, "fork", lambda: started.append(fork()) or started[-1])
    return started


def square(number):
    time.sleep(0.001)
    return number * number, os.getpid()


@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_results_are_in_order(two_processes, n):
    found = ProcessCopies().map(square, range(n))
    assert [result for result, _ in found] == [number * number for number in range(n)]


@linux
def test_two_processes_work(two_processes):
    assert len({pid for _, pid in ProcessCopies().map(square, range(50))}) == 2


def test_more_items_than_a_pipe_takes(two_processes):
    n = 2 * copies._MAX_NUMBERS + 3
    assert ProcessCopies().map(lambda number: -number, range(n)) == [-number for number in range(n)]


@linux
def test_large_results(two_processes):
    found = ProcessCopies().map(lambda number: bytes([number]) * 3_000_000, range(6))
    assert found == [bytes([number]) * 3_000_000 for number in range(6)]


def test_an_error_is_raised_here(two_processes):
    def fail(number):
        time.sleep(0.001)
        if number == 9:
            raise ValueError("number 9")
        return number

    with pytest.raises(ValueError, match="9"):
        ProcessCopies().map(fail, range(20))
    assert_ended(two_processes)


@linux
def test_a_killed_process_costs_time_only(two_processes):
    here = os.getpid()

    def be_killed(number):
        time.sleep(0.001)
        if os.getpid() != here and number > 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert ProcessCopies().map(be_killed, range(20)) == list(range(20))


@linux
def test_an_error_here_ends_the_other_process(two_processes):
    here = os.getpid()

    def fail_here(number):
        if os.getpid() == here:
            raise KeyboardInterrupt
        time.sleep(60)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ProcessCopies().map(fail_here, range(4))
    assert time.monotonic() - start < 30
    assert_ended(two_processes)


def assert_ended(started):
    for pid in started:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


@pytest.mark.parametrize(
    "reason",
    ["one processor", "Polars is loaded", "another thread"],
)
def test_no_process_is_started_where_it_is_unsafe_or_useless(monkeypatch, reason):
    monkeypatch.delitem(sys.modules, "polars", raising=False)
    monkeypatch.setattr(copies, "_count_processors", lambda: 1 + (reason != "one processor"))
    if reason == "Polars is loaded":
        monkeypatch.setitem(sys.modules, "polars", object())
    if reason == "another thread":
        monkeypatch.setattr("threading.main_thread", lambda: None)
    monkeypatch.setattr(copies, "_start_copies", None)
    assert {pid for _, pid in ProcessCopies().map(square, range(4))} == {os.getpid()}


@linux
@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_processes_end_with_their_parent(number, tmp_path):
    code = (
        "import os, sys, time\n"
        "from trectools_plus.distributed import copies\n"
        "copies._count_processors = lambda: 2\n"
        "def work(number):\n"
        f"    open({str(tmp_path)!r} + f'/{{os.getpid()}}', 'w').close()\n"
        "    time.sleep(0.1)\n"
        "copies.ProcessCopies().map(work, range(600))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as parent:
        for _ in range(200):
            pids = [int(path.name) for path in tmp_path.iterdir()]
            if len(pids) == 2:
                break
            time.sleep(0.05)
        os.kill(parent.pid, number)
    assert len(pids) == 2
    for _ in range(100):
        if not any(is_running(pid) for pid in pids):
            return
        time.sleep(0.1)
    pytest.fail("a process outlives its parent")


def is_running(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
