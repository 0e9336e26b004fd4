"""Calls of retrievers with a time limit, in a thread."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from trectools_plus import evaluate
from trectools_plus.benchmark.run.config_file import load_config, load_fetch_settings
from trectools_plus.errors import CheckFailedError, InputError, UsageError
from trectools_plus.formats.collection import Collection
from trectools_plus.formats.tables import Corpus, Qrels, Topics
from trectools_plus.retrieval.backends.python import PythonBackend
from trectools_plus.retrieval.fetch import FetchRequest, fetch_runs

# The error that ends the thread of a late call can be raised in a callback, which Python reports.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
TOPICS = Topics.from_dict({"q1": "heart", "q2": "lung", "q3": "knee"})
TESTS = Collection("toy", None, TOPICS, Qrels.from_dict({"q1": {"d1": 1}, "q2": {"d2": 2}}))
MODULE = """
import sqlite3, time

# Without 600, it belongs to the thread that imports this module.
database = sqlite3.connect(":memory:", check_same_thread="600" not in "BEHAVIOUR")

def search(text, depth):
    database.execute("select 1")
    print("searching")
    if text == "lung":
        BEHAVIOUR
    return ["d1"]

def other(text, depth):
    database.execute("select 1")
    return ["d2"]

class Indexed:
    def index(self, corpus):
        self.texts = corpus.to_dict()

    def search(self, queries, depth):
        if queries == ["lung"]:
            BEHAVIOUR
        return [[doc for doc, text in self.texts.items() if query in text] for query in queries]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fetch(behaviour: str, *names: str, corpus: Corpus | None = None, timeout: float = 20) -> Any:
    sys.modules.pop("timed", None)
    Path("timed.py").write_text(MODULE.replace("BEHAVIOUR", behaviour))
    backend = PythonBackend({name: f"timed:{name}" for name in names}, timeout)
    return fetch_runs(FetchRequest(corpus, TOPICS, names, backend=backend))


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("time.sleep(600)", "no answer within 0.5 s"),
        ("raise SystemExit('bye')", "SystemExit: bye"),
        (
            "return 3",
            "TypeError: expected ids, pairs of id and score, {id: score}, results with doc_id and "
            "score, or a data frame but got int 3",
        ),
    ],
)
def test_the_other_queries_are_answered(folder: Path, behaviour: str, reason: str) -> None:
    run = fetch(behaviour, "search", timeout=0.5 if "sleep" in behaviour else 20)["search"]
    assert {query: failure.reason for query, failure in run.failures.items()} == {"q2": reason}
    assert run.failures["q2"].attempts == 2
    assert run.failures["q2"].kind == ("unavailable" if "no answer" in reason else "failed")
    assert set(run.run.to_dict()) == {"q1", "q3"}


def test_modes_share_a_thread_whose_output_goes_to_stderr(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = fetch("pass", "search", "other")
    assert [run.status for run in runs.values()] == ["ok", "ok"]
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "searching\n" * 3)


def test_indexed_documents_are_kept_after_a_call_was_abandoned(folder: Path) -> None:
    corpus = Corpus.from_dict({"d1": "heart", "d2": "knee"})
    run = fetch("time.sleep(600)", "Indexed", corpus=corpus, timeout=0.5)["Indexed"]
    assert list(run.failures) == ["q2"]
    assert {query: list(found) for query, found in run.run.to_dict().items()} == {
        "q1": ["d1"],
        "q3": ["d2"],
    }


def test_an_object_is_called_by_the_calling_thread_without_a_limit() -> None:
    threads = []

    def search(text: str, depth: int) -> list[str]:
        threads.append(threading.current_thread())
        return ["d1"]

    evaluate(search, TESTS, ["RR@10"])
    assert set(threads) == {threading.current_thread()}


def sleep() -> None:
    time.sleep(600)


def ignore() -> None:
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            if stop.is_set():
                return


def loop() -> None:
    while True:
        pass


stop = threading.Event()


@pytest.mark.parametrize("hang", [sleep, ignore, loop])
@pytest.mark.parametrize("takes_list", [False, True])
def test_an_object_that_hangs(hang: Any, takes_list: bool) -> None:
    def search(text: str, depth: int) -> list[str]:
        if text == "lung":
            hang()
        return ["d1"]

    listed = type("Listed", (), {"search": lambda _, texts, depth: [search(texts[0], depth)]})()
    started = time.monotonic()
    with pytest.raises(CheckFailedError, match=r"1.*3.*q2.*0\.1"):
        evaluate(listed if takes_list else search, TESTS, ["RR@10"], timeout=0.1)
    assert time.monotonic() - started < 30


def test_an_object_that_always_hangs_is_unavailable() -> None:
    with pytest.raises(InputError, match=r"3.*3"):
        evaluate(lambda text, depth: time.sleep(600), TESTS, timeout=0.05)


def test_a_call_beyond_its_limit_is_ended() -> None:
    ended = threading.Event()

    def search(text: str, depth: int) -> list[str]:
        try:
            loop()
        finally:
            ended.set()
        return []

    with pytest.raises(InputError):
        evaluate(search, TESTS, timeout=0.05)
    assert ended.wait(60)


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan")])
def test_a_limit_is_above_zero(timeout: float) -> None:
    with pytest.raises(UsageError, match="0"):
        PythonBackend({}, timeout)


def test_the_setting(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.yaml"
    path.write_text("retriever: m:f\ntimeout: 5\n")
    assert load_fetch_settings(path).timeout == 5
    assert load_fetch_settings(path, {"timeout": 2.5}).timeout == 2.5
    data = {"topics": "t", "qrels": "q"}
    assert load_config(path, data).as_manifest()["timeout"] == 5
    assert "timeout" not in load_config(None, {**data, "retriever": ["m:f"]}).as_manifest()
    with pytest.raises(UsageError):
        load_fetch_settings(None, {"timeout": 5.0})
    with pytest.raises(UsageError, match="retriever"):
        load_fetch_settings(path, {"backend": "embedded"})
    service = {"http": {"url": "http://localhost:1"}, "timeout": 7.0}
    assert load_fetch_settings(None, service).make_backend().record["timeout"] == 7
