"""Failures that end the work are one line and exit code 2, and nothing waits for ever."""

from __future__ import annotations

import os
import socket
import sys
import threading
from contextlib import contextmanager

import pytest

from trectools_plus.distributed import cluster, current_workers, use_scheduler
from trectools_plus.distributed.cluster import versions
from trectools_plus.errors import InputError, MissingExtraError, UsageError

from .conftest import kill

pytestmark = [pytest.mark.process, pytest.mark.slow("starts a cluster")]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(cluster, "WORKERLESS_SECONDS", 2.0)
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 5)


def test_an_address_with_a_password_is_refused_before_anything_is_looked_up(monkeypatch):
    looked_up = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **_: looked_up.append(given))
    with pytest.raises(UsageError) as refused:
        use_scheduler("tcp://me:hunter2@host:8786").__enter__()
    assert "hunter2" not in str(refused.value)
    assert not looked_up


@pytest.mark.parametrize("address", ["here", "nowhere://x:1", "tcp://x:y"])
def test_no_address(address):
    with pytest.raises((UsageError, InputError)) as error:
        use_scheduler(address).__enter__()
    assert error.value.exit_code == 2
    assert error.value.where == address


@contextmanager
def later(action):
    """Do something soon after work has begun."""
    timer = threading.Timer(1.0, action)
    timer.start()
    yield
    timer.join()


@pytest.mark.parametrize("lost", ["worker", "scheduler"])
def test_lost_processes_and_missing_workers(start, lost):
    processes = start(1)
    process = processes.workers[0] if lost == "worker" else processes.scheduler
    with (
        use_scheduler(processes.address),
        later(lambda: kill(process)),
        pytest.raises(InputError, match="tcp://"),
    ):
        current_workers().map(_slowly, range(300))
    with pytest.raises(InputError, match="2" if lost == "worker" else "no scheduler"):
        use_scheduler(processes.address).__enter__()


def test_a_worker_with_other_versions(start, tmp_path):
    other = tmp_path / "other" / "numpy-0.1.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 0.1\n")
    path = os.pathsep.join([str(other.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    expected = rf"has numpy 0\.1 instead of {versions()['numpy']} — --scheduler — install the same"
    processes = start(1)
    processes.add_worker(PYTHONPATH=path)
    processes.wait_for_workers(2)
    with pytest.raises(UsageError, match=f"tcp://.* {expected}"):
        use_scheduler(processes.address).__enter__()


def _slowly(number):
    import time

    time.sleep(0.02)
    return number


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (
            OSError(28, "No space left on device", "/tmp/x"),
            ".*No space left on device: '/tmp/x' — fix the problem",
        ),
        (MemoryError(), "out of memory — fix the"),
    ],
)
def test_errors_of_a_workers_machine_are_not_a_lost_scheduler(scheduler, error, shown):
    with (
        use_scheduler(scheduler),
        pytest.raises(InputError, match=f"a worker failed: {shown}"),
    ):
        current_workers().map(_raise, [error])


def _raise(error):
    raise error


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"--scheduler.*distributed"):
        use_scheduler("tcp://127.0.0.1:1").__enter__()
