"""Copies of this process do the work, and neither their end nor its own leaves any."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trectools_plus import distributed as copies
from trectools_plus.distributed import map_in_copies

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux copies processes")


@pytest.fixture
def two_processes(monkeypatch):
    monkeypatch.setattr(copies, "_count_processors", lambda: 2)
    monkeypatch.setattr(copies, "can_copy_process", lambda: sys.platform == "linux")


def square(number):
    time.sleep(0.001)
    return number * number, os.getpid()


@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_results_are_in_order(two_processes, n):
    found = map_in_copies(square, range(n))
    assert [result for result, _ in found] == [number * number for number in range(n)]
    if n == 50 and sys.platform == "linux":
        assert len({pid for _, pid in found} | {os.getpid()}) == 3


@linux
def test_a_killed_process_costs_time_only(two_processes):
    here = os.getpid()

    def be_killed(number):
        if os.getpid() != here and number > 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert map_in_copies(be_killed, range(20)) == list(range(20))


@pytest.mark.parametrize("reason", ["one processor", "Polars is loaded", "another thread"])
def test_no_process_is_started_where_it_is_unsafe_or_useless(monkeypatch, reason):
    monkeypatch.delitem(sys.modules, "polars", raising=False)
    monkeypatch.setattr(copies, "_count_processors", lambda: 1 + (reason != "one processor"))
    if reason == "Polars is loaded":
        monkeypatch.setitem(sys.modules, "polars", object())
    if reason == "another thread":
        monkeypatch.setattr("threading.main_thread", lambda: None)
    assert {pid for _, pid in map_in_copies(square, range(4))} == {os.getpid()}


@linux
@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_processes_end_with_their_parent(number, tmp_path):
    code = (
        "import os, sys, time\n"
        "from trectools_plus import distributed as copies\n"
        "copies._count_processors = lambda: 2\n"
        "def work(number):\n"
        f"    open({str(tmp_path)!r} + f'/{{os.getpid()}}', 'w').close()\n"
        "    time.sleep(0.1)\n"
        "copies.map_in_copies(work, range(600))\n"
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
