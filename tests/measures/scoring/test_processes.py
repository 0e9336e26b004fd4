"""Processes beside this one give its scores, and neither their end nor its own leaves a mess."""

import concurrent.futures
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from trectools_plus.measures import parse_measures
from trectools_plus.measures.judged import JudgedRun
from trectools_plus.measures.scoring import processes
from trectools_plus.measures.scoring.processes import open_scorer
from trectools_plus.measures.scoring.ranking import score_judged

pytestmark = pytest.mark.process

MEASURES = parse_measures(["AP", "nDCG", "Bpref", "RelRet", "APcap@300"])
LARGE = processes.MIN_BYTES_FOR_PROCESSES


@pytest.fixture
def two_processors(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


def make_run(seed):
    random = np.random.default_rng(seed)
    ranks = np.concatenate([random.permutation(40)[:9] for _ in range(5)])
    query = np.repeat(np.arange(5), 9)
    return JudgedRun.of(np.full(5, 40), query, ranks, random.integers(-1, 3, 45))


def test_scores_beside_are_scores_here(two_processors):
    runs = [make_run(seed) for seed in range(4)]
    ids = list("abcde")
    with open_scorer(MEASURES, LARGE) as scorer:
        beside = [scorer.score(ids, run) for run in runs]
        assert [wait().tobytes() for wait in beside] == [
            score_judged(MEASURES, ids, run).tobytes() for run in runs
        ]


def test_a_killed_process_costs_time_only(two_processors, monkeypatch):
    run, ids = make_run(1), list("abcde")
    with open_scorer(MEASURES, LARGE) as scorer:
        first = scorer.score(ids, run)()
        for process in list(scorer.pool._processes.values()):
            process.kill()
            process.join()
        again = [scorer.score(ids, run) for _ in range(3)]
        assert all(np.array_equal(wait(), first) for wait in again)


@pytest.mark.parametrize(
    ("measures", "n_bytes", "processors"),
    [(["AP"], LARGE - 1, 2), (["AP@100"], LARGE, 2), (["AP"], LARGE, 1)],
    ids=["a small run", "a shallow measure", "one processor"],
)
def test_no_process_is_started_where_it_cannot_pay(monkeypatch, measures, n_bytes, processors):
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    monkeypatch.setattr(concurrent.futures, "ProcessPoolExecutor", None)
    run = make_run(2)
    with open_scorer(parse_measures(measures), n_bytes) as scorer:
        found = scorer.score(list("abcde"), run)()
    assert np.array_equal(found, score_judged(parse_measures(measures), list("abcde"), run))


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_process_is_born_deaf_to_ctrl_c(two_processors):
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with open_scorer(MEASURES, LARGE) as scorer:
        scorer.score(list("abcde"), make_run(1))
        # Read at once: before the new process has run a line of ours.
        blocked = [blocked_signals(number) for number in scorer.pool._processes]
    assert blocked
    assert all(mask & 1 << (signal.SIGINT - 1) for mask in blocked)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def blocked_signals(pid):
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("SigBlk:")[2].split()[0], 16)


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_processes_end_with_a_parent_that_is_killed():
    code = (
        "import os, time; os.cpu_count = lambda: 2\n"
        "from tests.measures.scoring.test_processes import LARGE, MEASURES, make_run, open_scorer\n"
        "if __name__ == '__main__':\n"
        "    with open_scorer(MEASURES, LARGE) as scorer:\n"
        "        scorer.score(list('abcde'), make_run(1))()\n"
        "        print(*scorer.pool._processes, flush=True)\n"
        "        time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as parent:
        children = [int(number) for number in parent.stdout.readline().split()]
        os.kill(parent.pid, signal.SIGKILL)
    assert children
    for _ in range(100):
        if not any(is_running(child) for child in children):
            return
        time.sleep(0.1)
    pytest.fail("a process outlives its parent")


def is_running(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
