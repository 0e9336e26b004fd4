from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.ranking import rank_documents
from trectools_plus.retrieval.backends.embedded.backend import EmbeddedBackend, build_retrievers
from trectools_plus.retrieval.backends.embedded.modes import MODES
from trectools_plus.retrieval.backends.python import PythonBackend
from trectools_plus.retrieval.fetch.answering import FetchOptions
from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch, fetch_runs
from trectools_plus.retrieval.fetch.run_files import fetch_to_dir
from trectools_plus.retrieval.fusion import Fusion, HybridRetriever
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Ranking

CORPUS = Corpus.from_dict(
    {
        "d1": "swept wing at high speed",
        "d2": "wing flutter",
        "d3": "heat transfer in a wing",
        "d4": "heat conduction",
        "é漢": "boundary layer of a wing",
        "empty": "",
    }
)
TOPICS = Topics.from_dict({"q1": "swept wing", "d2": "wing flutter", "q3": "the", "q4": ""})


class Stand:
    """A retriever of fixed answers that counts what it is asked."""

    def __init__(self, name: str, doc_ids: list[str]) -> None:
        self.name = name
        self.doc_ids = doc_ids
        self.asked: list[tuple[tuple[str, ...], int]] = []

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        self.asked.append((tuple(queries), depth))
        scores = np.arange(len(self.doc_ids), 0, -1, dtype=np.float32)
        return [Ranking(self.doc_ids, scores).head(depth) for _ in queries]


@pytest.mark.parametrize("batch_size", [1, 3])
def test_runs_are_canonical_and_exact_in_32_bits(batch_size: int) -> None:
    fetched = fetch(CORPUS, TOPICS, MODES, settings=RetrievalSettings(batch_size=batch_size))
    assert list(fetched) == list(MODES)
    for mode, result in fetched.items():
        frame = result.run.frame
        assert result.run.name == mode
        assert frame.equals(rank_documents(frame).select(frame.columns))
        assert (frame["score"] == frame["score"].cast(pl.Float32).cast(pl.Float64)).all()
        assert len(result.latency_ms) == 4
        assert (result.latency_ms > 0).all()
        covered = set(result.run.query_ids)
        assert covered | set(result.missing_queries) == {"q1", "d2", "q3", "q4"}
        assert not covered & set(result.missing_queries)
    assert fetched["lexical"].missing_queries == ["q3", "q4"]
    assert set(fetched["hybrid"].index_keys) == {"lexical", "vector"}


def test_batches_and_company_change_nothing() -> None:
    together = fetch(CORPUS, TOPICS, MODES)
    for mode in MODES:
        alone = fetch(CORPUS, TOPICS, [mode], settings=RetrievalSettings(batch_size=4))
        assert alone[mode].run.frame.equals(together[mode].run.frame)


def test_a_short_result_is_the_start_of_a_long_one() -> None:
    short, long = (fetch(CORPUS, TOPICS, MODES, depth=depth) for depth in (2, 100))
    for mode in MODES:
        expected = long[mode].run.frame.filter(pl.col("rank") <= 2)
        assert short[mode].run.frame.equals(expected)


def test_hybrid_in_fetch_is_hybrid_by_itself() -> None:
    retriever = build_retrievers(CORPUS, ["hybrid"])["hybrid"]
    found = retriever.search(["swept wing"], 5)[0]
    frame = fetch(CORPUS, TOPICS, MODES, depth=5)["hybrid"].run.frame
    assert frame.filter(pl.col("query_id") == "q1")["doc_id"].to_list() == found.doc_ids


class Counting(Stand):
    """Notes how many threads BLAS may use when it is asked."""

    def __init__(self) -> None:
        super().__init__("counting", ["a"])
        self.threads: list[int] = []

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        self.threads += [
            one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"
        ]
        return super().search(queries, depth)


def test_queries_are_searched_with_one_blas_thread(tmp_path: Path) -> None:
    topics = Topics.from_dict({"1": "x", "2": "y"})
    embedded, mine = Counting(), Counting()
    with threadpool_limits(2, user_api="blas"):
        before = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
        fetch_runs(
            FetchRequest(
                None,
                topics,
                list({"counting": embedded}),
                backend=EmbeddedBackend({"counting": embedded}),
            )
        )
        fetch_to_dir(
            FetchRequest(None, topics, ["mine"], backend=PythonBackend({"mine": mine})), tmp_path
        )
        after = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
    assert set(embedded.threads) == set(mine.threads) == ({1} if before else set())
    assert after == before


def test_results_do_not_depend_on_blas_threads() -> None:
    retriever = build_retrievers(CORPUS, ["vector"])["vector"]
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            (ranking,) = retriever.search(["swept wing"], 5)
        found.append((ranking.doc_ids, ranking.scores.tolist()))
    assert found[0] == found[1]


def test_shared_components_are_searched_once() -> None:
    left, right = Stand("lexical", ["a", "b"]), Stand("vector", ["b", "c"])
    hybrid = HybridRetriever([left, right], Fusion(), candidates=7)
    fetched = fetch_runs(
        FetchRequest(
            None,
            Topics.from_dict({"1": "x", "2": "y"}),
            list({"lexical": left, "hybrid": hybrid}),
            FetchOptions(depth=1),
            backend=EmbeddedBackend({"lexical": left, "hybrid": hybrid}),
        )
    )
    assert left.asked == right.asked == [(("x",), 7), (("y",), 7)]
    assert fetched["lexical"].run.frame["doc_id"].to_list() == ["a", "a"]
    assert fetched["hybrid"].run.frame["doc_id"].to_list() == ["b", "b"]
    assert (fetched["hybrid"].latency_ms > fetched["lexical"].latency_ms).all()


def test_exclude_self_is_before_the_cutoff() -> None:
    kept = fetch(CORPUS, TOPICS, MODES, depth=2)
    dropped = fetch(CORPUS, TOPICS, MODES, depth=2, exclude_self=True)
    for mode in MODES:
        before, after = (
            result[mode].run.frame.filter(pl.col("query_id") == "d2") for result in (kept, dropped)
        )
        assert before["doc_id"][0] == "d2"
        assert "d2" not in after["doc_id"].to_list()
        assert after["rank"].to_list() == [1, 2]


def test_exclude_self_happens_before_ranks_are_fused() -> None:
    left, right = Stand("lexical", ["q", "a", "b"]), Stand("vector", ["b", "c"])
    hybrid = HybridRetriever([left, right], Fusion(k=0), candidates=1)
    topics = Topics.from_dict({"q": "x"})
    frame = fetch_runs(
        FetchRequest(
            None,
            topics,
            list({"hybrid": hybrid}),
            FetchOptions(depth=2, exclude_self=True),
            backend=EmbeddedBackend({"hybrid": hybrid}),
        )
    )["hybrid"].run.frame
    # Without q: a 1/1, b 1/2 + 1/1
    assert frame["doc_id"].to_list() == ["b", "a"]
    assert frame["score"].to_list() == [1.5, 1.0]
    assert left.asked == [(("x",), 3)]


def test_nothing_found_anywhere() -> None:
    fetched = fetch(CORPUS, Topics.from_dict({"1": "zeppelin"}), ["lexical"])["lexical"]
    assert fetched.run.frame.height == 0
    assert fetched.missing_queries == ["1"]


@pytest.mark.parametrize("modes", [["lexical", "bm25"], [], ["lexical", "lexical"]])
def test_refuses_modes(modes: list[str]) -> None:
    with pytest.raises(UsageError, match=r"mode"):
        fetch(CORPUS, TOPICS, modes)


def test_unknown_mode_lists_the_modes() -> None:
    with pytest.raises(UsageError, match="'bm26' — use one of lexical, vector, hybrid"):
        fetch(CORPUS, TOPICS, ["bm26"])


@pytest.mark.parametrize("bad", ["a b", "a\tb", "", "a\u00a0b", "a\nb", "a\x00b", "#1"])
def test_refuses_query_ids_that_break_a_run(bad: str) -> None:
    with pytest.raises(InputError, match="query id"):
        fetch(CORPUS, Topics.from_dict({"1": "x", bad: "y"}), ["lexical"])


def test_refuses_documents_that_break_a_run_before_work_begins() -> None:
    steps: list[object] = []
    corpus = Corpus.from_dict({"a b": "x", "#fine": "y"})
    with pytest.raises(InputError, match=r"document id 'a b' .*\(1 of 2"):
        fetch_runs(
            FetchRequest(corpus, TOPICS, ["lexical"]), progress=lambda *step: steps.append(step)
        )
    assert not steps


def test_refuses_other_requests() -> None:
    with pytest.raises(UsageError, match="depth"):
        fetch(CORPUS, TOPICS, ["lexical"], depth=0)
    with pytest.raises(InputError, match="no topics"):
        fetch(CORPUS, Topics.from_dict({}), ["lexical"])
    twice = Topics(pl.DataFrame({"query_id": ["1", "1"], "text": ["a", "b"]}))
    with pytest.raises(InputError, match="query id '1' occurs more than once"):
        fetch(CORPUS, twice, ["lexical"])
