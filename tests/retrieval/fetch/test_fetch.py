from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from time import sleep

import numpy as np
import polars as pl
import pytest
from harness.retrievers import Stand
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trectools_plus.choices import MODES
from trectools_plus.display import Progress
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.ranking import rank_documents
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.retrieval.backends import embedded as backend
from trectools_plus.retrieval.backends.embedded import (
    LATENCY_SAMPLE,
    EmbeddedBackend,
)
from trectools_plus.retrieval.fetch import FetchRequest, fetch, fetch_runs
from trectools_plus.retrieval.fusion import Fusion, HybridRetriever
from trectools_plus.retrieval.index.parts import AGGREGATIONS, KINDS
from trectools_plus.retrieval.run_files import fetch_to_dir
from trectools_plus.retrieval.settings import BATCH_SIZE
from trectools_plus.retrieval.source import (
    Backend,
    FetchOptions,
    Hits,
    Query,
    SearchRequest,
    Source,
)

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
EMBEDDED_MODES = ["lexical", "vector", "ngram", "hybrid"]
TOPICS = Topics.from_dict({"q1": "swept wing", "d2": "wing flutter", "q3": "the", "q4": ""})


def test_runs_are_canonical_and_exact_in_32_bits() -> None:
    fetched = fetch(CORPUS, TOPICS, MODES)
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


WORDS = ["Abnormality", "heart", "septal defect", "of the", "kidney", "Morphology", "x" * 90, "é漢"]
NAMES = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)


@pytest.mark.slow("searches a real collection in every mode")
@given(
    parts=st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=12),
    queries=st.lists(NAMES, min_size=1, max_size=9),
    batch_size=st.integers(2, 9),
    depth=st.integers(1, 14),
    exclude_self=st.booleans(),
)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_mode_finds_the_same_in_batches(
    parts: list[tuple[str, str, str]],
    queries: list[str],
    batch_size: int,
    depth: int,
    exclude_self: bool,
) -> None:
    terms = [(f"T{n}", kinds) for n, kinds in enumerate(parts)]
    frame = pl.DataFrame(
        [
            (doc_id, kind, text)
            for doc_id, texts in [*terms, ("T", ("wing", "", ""))]
            for kind, text in zip(KINDS, texts, strict=True)
        ],
        schema=["doc_id", "kind", "text"],
        orient="row",
    )
    plain = Corpus.from_dict({doc_id: " ".join(texts) for doc_id, texts in terms} | {"T": "wing"})
    corpus = Corpus(plain.frame, parts=frame, find_exact=lambda text: ["T0"] * (text in WORDS))
    topics = Topics.from_dict({f"T{n}": text for n, text in enumerate(queries)})
    modes = [*EMBEDDED_MODES, *AGGREGATIONS]
    found = {}
    for size, sample in ((1, 0), (batch_size, 0), (batch_size, 3)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(backend.EmbeddedSource, "latency_sample", sample)
            patch.setattr(backend.EmbeddedSource, "batch_size", size)
            options = FetchOptions(depth, exclude_self)
            runs = fetch_runs(FetchRequest(corpus, topics, modes, options))
        for run in runs.values():
            assert np.count_nonzero(~np.isnan(run.latency_ms)) == min(sample, len(queries))
        found[size, sample] = [
            found_run.run.frame.to_dict(as_series=False) for found_run in runs.values()
        ]
    one_by_one, *batched = found.values()
    assert all(one == one_by_one for one in batched)


def test_the_latency_of_a_sample_is_measured_one_at_a_time(tmp_path: Path) -> None:
    ids = [f"q{n}" for n in range(LATENCY_SAMPLE + BATCH_SIZE + 5)]
    requested = {}
    for order in (ids, ids[::-1]):
        stand = Stand("lexical", ["a"])
        topics = Topics.from_dict({query_id: query_id for query_id in order})
        request = FetchRequest(
            None, topics, ["lexical"], backend=EmbeddedBackend({"lexical": stand})
        )
        folder = tmp_path / order[0]
        file = fetch_to_dir(request, folder, resume=True)["lexical"]
        sizes = [len(texts) for texts, _ in stand.asked]
        assert sizes == [1] * LATENCY_SAMPLE + [BATCH_SIZE, 5]
        timed = {texts[0] for texts, _ in stand.asked[:LATENCY_SAMPLE]}
        latencies = dict(zip(order, file.outcome.latency_ms, strict=True))
        assert {one for one, ms in latencies.items() if not np.isnan(ms)} == timed
        latency = file.manifest.latency_ms
        assert latency.queries == LATENCY_SAMPLE
        assert latency.mean == pytest.approx(np.mean([latencies[one] for one in timed]))
        # The journal restores the same latencies.
        again = fetch_to_dir(request, folder, resume=True)["lexical"]
        assert again.manifest.latency_ms == latency
        requested[order[0]] = timed
    first, second = requested.values()
    assert first == second


def test_a_short_result_is_the_start_of_a_long_one() -> None:
    short, long = (fetch(CORPUS, TOPICS, MODES, depth=depth) for depth in (2, 100))
    for mode in MODES:
        expected = long[mode].run.frame.filter(pl.col("rank") <= 2)
        assert short[mode].run.frame.equals(expected)


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


@pytest.mark.parametrize("modes", [["lexical", "bm25"], [], ["lexical", "lexical"], ["bm26"]])
def test_refuses_modes(modes: list[str]) -> None:
    with pytest.raises(UsageError, match=r"mode"):
        fetch(CORPUS, TOPICS, modes)


@pytest.mark.parametrize(
    "topics",
    [
        *(
            Topics.from_dict({"1": "x", query_id: "y"})
            for query_id in ("a b", "a\tb", "", "a\u00a0b", "a\nb", "a\x00b", "#1")
        ),
        Topics.from_dict({}),
        Topics(pl.DataFrame({"query_id": ["1", "1"], "text": ["a", "b"]})),
    ],
)
def test_refuses_topics_that_break_a_run(topics: Topics) -> None:
    with pytest.raises(InputError):
        fetch(CORPUS, topics, ["lexical"])


def test_refuses_documents_that_break_a_run_before_work_begins() -> None:
    steps: list[object] = []
    corpus = Corpus.from_dict({"a b": "x", "#fine": "y"})
    with pytest.raises(InputError, match=r"a b.*1.*2"):
        fetch_runs(
            FetchRequest(corpus, TOPICS, ["lexical"]), progress=lambda *step: steps.append(step)
        )
    assert not steps


def test_refuses_a_depth_below_1() -> None:
    with pytest.raises(UsageError, match="depth"):
        fetch(CORPUS, TOPICS, ["lexical"], depth=0)


class _CountingSource(Source):
    """Records how many calls it answers at the same time."""

    concurrency = 4
    latency_sample = 5

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []
        self._open, self._lock = 0, Lock()

    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits]:
        with self._lock:
            self._open += 1
            self.calls += [(query.query_id, self._open) for query in queries]
        sleep(0.005)
        with self._lock:
            self._open -= 1
        return [Hits(["d1"], [1.0], 5.0) for _ in queries]


def test_latency_is_that_of_single_requests() -> None:
    source = _CountingSource()

    class Parallel(Backend):
        name = "parallel"

        def open(self, request: SearchRequest, progress: Progress) -> dict[str, Source]:
            return {"x": source}

    topics = Topics.from_dict({f"q{number}": "a" for number in range(20)})
    request = FetchRequest(None, topics, ["x"], backend=Parallel())
    latencies = fetch_runs(request)["x"].latency_ms
    timed = {f"q{number}" for number in np.flatnonzero(~np.isnan(latencies))}
    assert [at_once for _, at_once in source.calls[:5]] == [1] * 5
    assert {query_id for query_id, _ in source.calls[:5]} == timed
    assert max(at_once for _, at_once in source.calls) > 1
    assert len(source.calls) == 20
