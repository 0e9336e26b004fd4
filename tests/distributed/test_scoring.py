"""Run files scored by workers have the figures of a single machine, bit for bit."""

from __future__ import annotations

import os

import pytest

from trectools_plus.choices import Averaging
from trectools_plus.distributed import Place, current_workers, use_scheduler
from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.measures.evaluation import DEFAULT_MEASURES, score_runs
from trectools_plus.measures.parser import parse_measures
from trectools_plus.measures.scoring import RunOpener, open_files
from trectools_plus.validation import load_qrels

from .conftest import kill

pytestmark = [pytest.mark.process, pytest.mark.slow("starts a cluster")]

WHOLE = [*DEFAULT_MEASURES, "AP", "Bpref", "nDCG", "MeanRank", "Judged@10", "RBP@20"]
BY_DOCUMENT = ["nDCG@10", "Accuracy"]


def score(qrels, runs, names=WHOLE, **options):
    measures = parse_measures(names)
    judged, opened, _ = open_files(qrels, runs, measures, **options)
    named = {run.path: run for run in opened}
    return score_runs(judged, named, measures, Averaging()), opened


def check_same(found, expected):
    assert found.run_names == expected.run_names
    assert found.query_ids == expected.query_ids
    assert found.counts == expected.counts
    assert found.notes == expected.notes
    for name in expected.run_names:
        assert found.tables[name].tobytes() == expected.tables[name].tobytes()


def test_a_killed_worker_loses_no_results(start, collection):
    given = collection(60)
    cluster = start(2)
    expected, _ = score(given.qrels, given.runs)
    reported = []

    def progress(description, done, total):
        assert description == "scoring"
        reported.append((done, total))
        if done >= 15 and len(alive) == 2:
            kill(cluster.workers[0])
            alive.pop()

    alive = list(cluster.workers)
    with use_scheduler(cluster.address):
        workers = current_workers()
        assert set(workers.map(_process, range(40))) == {one.pid for one in cluster.workers}
        found, opened = score(given.qrels, given.runs, progress=progress)
        assert set(workers.map(_process, range(9))) == {cluster.workers[1].pid}
    assert current_workers() is None
    assert len(opened) == 60
    assert reported == [(done, 60) for done in range(len(reported))]
    check_same(found, expected)


def _process(_):
    import time

    time.sleep(0.05)  # so that nobody is quick enough to do all
    return os.getpid()


@pytest.mark.parametrize("names", [DEFAULT_MEASURES, WHOLE, BY_DOCUMENT])
def test_scores_are_those_of_one_machine(scheduler, collection, names):
    given = collection(10)
    expected, _ = score(given.qrels, given.runs, names)
    with use_scheduler(scheduler):
        found, _ = score(given.qrels, given.runs, names)
    check_same(found, expected)


def test_errors_are_those_of_one_machine(scheduler, collection, tmp_path):
    given = collection(4)
    (tmp_path / "bad.run").write_text("q1 Q0 d1 1 x t\n")
    (tmp_path / "twice.run").write_text("q1 Q0 d1 1 2 t\nq1 Q0 d1 2 1 t\n")
    (tmp_path / "empty.run").write_text("")
    broken = [str(tmp_path / name) for name in ("bad.run", "twice.run", "empty.run", "none.run")]
    runs = [given.runs[0], *broken, given.runs[1]]
    with pytest.raises(TrectoolsPlusError) as here:
        score(given.qrels, runs)
    with use_scheduler(scheduler), pytest.raises(TrectoolsPlusError) as spread:
        score(given.qrels, runs)
    assert str(spread.value) == str(here.value)
    assert all(path in str(spread.value) for path in broken)
    assert spread.value.exit_code == here.value.exit_code


def test_a_file_that_workers_do_not_see_is_named(scheduler, collection, tmp_path):
    given = collection(1)
    opener = RunOpener(load_qrels(given.qrels), parse_measures(["nDCG@10"])).open_on_worker
    (tmp_path / "mine.run").write_text("q1 Q0 d1 1 1.0 t\n")
    only_there = Place(str(tmp_path / "only-there" / "mine.run"), 17)
    for place in (only_there, Place(str(tmp_path / "mine.run"), 1700)):
        with use_scheduler(scheduler), pytest.raises(UsageError, match=r"mine\.run"):
            current_workers().map(opener, [("mine.run", place)])
