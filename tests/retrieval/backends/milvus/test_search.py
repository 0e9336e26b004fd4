"""Milvus ranks as the embedded modes do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trectools_plus.errors import UsageError
from trectools_plus.formats.collection import load_collection
from trectools_plus.formats.tables import Corpus
from trectools_plus.measures.evaluation import evaluate
from trectools_plus.retrieval.backends.embedded.backend import EmbeddedBackend, build_retrievers
from trectools_plus.retrieval.backends.embedded.modes import MODES
from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch, fetch_runs
from trectools_plus.retrieval.fusion import fuse_rankings, fusion_of
from trectools_plus.retrieval.settings import RetrievalSettings

TEXTS = {
    "wing": "flow over a swept wing",
    "heat": "heat transfer in laminar flow",
    "shell": "buckling of thin shells",
    "blank": "",
}


def open_modes(
    connection: Any,
    corpus: Corpus,
    settings: RetrievalSettings | None = None,
    *,
    server_fusion: bool = False,
) -> Any:
    from trectools_plus.retrieval.backends.milvus import backend as milvus_search
    from trectools_plus.retrieval.backends.milvus.collection import open_collection

    settings = settings or RetrievalSettings()
    collection = open_collection(connection, corpus, settings)
    return milvus_search.open_modes(collection, MODES, settings, server_fusion=server_fusion)


def assert_same_up_to_ties(found: dict[str, float], expected: dict[str, float], scale: float):
    """The same documents in the same order, but where scores are equal to six digits."""
    ranked = sorted(found, key=lambda doc_id: -found[doc_id])
    wanted = [expected.get(doc_id, min(expected.values())) for doc_id in ranked]
    assert len(found) == len(expected)
    assert np.array(list(found.values())) == pytest.approx(
        scale * np.array(sorted(expected.values(), reverse=True)), rel=1e-5, abs=5e-6
    )
    assert np.diff(wanted).max(initial=0) <= 1e-5 * max(map(abs, wanted))


def test_agrees_with_the_embedded_modes_on_cranfield(
    connect: Callable[..., Any], ir_datasets_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
    collection = load_collection("irds:cranfield")
    assert collection.corpus is not None
    settings = RetrievalSettings(batch_size=75)
    backend = EmbeddedBackend(open_modes(connect(), collection.corpus, settings))
    request = FetchRequest(None, collection.topics, MODES, settings=settings, backend=backend)
    found = fetch_runs(request)
    expected = fetch(collection.corpus, collection.topics, MODES, settings=settings)
    for mode, scale in (("lexical", 1 + settings.k1), ("vector", 1.0), ("hybrid", 1.0)):
        ours, theirs = found[mode].run.to_dict(), expected[mode].run.to_dict()
        assert ours.keys() == theirs.keys()
        assert len(ours) == 225
        for query_id, ranking in ours.items():
            assert_same_up_to_ties(ranking, theirs[query_id], scale)
    runs = {"ours": found["hybrid"].run, "theirs": expected["hybrid"].run}
    scored = evaluate(collection.qrels, runs, ["nDCG@10"])
    ours, theirs = (scored.mean(name, "nDCG@10") for name in runs)
    assert ours == pytest.approx(theirs, abs=1e-4)
    assert ours == pytest.approx(0.3531, abs=1e-4)


def test_equal_texts_tie_and_the_higher_id_wins_at_the_cut(connect: Callable[..., Any]) -> None:
    texts = {f"d{number:03}": "swept wing" for number in range(150)} | {"x": "heat"}
    modes = open_modes(connect(), Corpus.from_dict(texts))
    for mode in ("lexical", "vector"):
        found = modes[mode].search(["wing flutter"], 3)[0]
        assert found.doc_ids == ["d149", "d148", "d147"], mode
        assert len(set(found.scores.tolist())) == 1
        assert found.scores.dtype == np.float32


def test_what_finds_nothing(connect: Callable[..., Any]) -> None:
    corpus = Corpus.from_dict(TEXTS)
    modes = open_modes(connect(), corpus)
    embedded = build_retrievers(corpus, MODES)
    queries = ["wing flow", "", "the of", "zebra", "shells"]
    for mode in MODES:
        found = modes[mode].search(queries, 3)
        expected = embedded[mode].search(queries, 3)
        assert [len(one) for one in found] == [len(one) for one in expected], mode
        assert found[0].doc_ids == expected[0].doc_ids
        assert not len(found[1])
        assert modes[mode].search([], 3) == []


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"fusion": "rrf", "rrf_k": 10},
        {"weights": (1, 3), "normalisation": "z-score"},
        {"fusion": "borda"},
        {"fusion": "combsum", "missing_documents": "zero"},
    ],
)
def test_hybrid_merges_as_runs_fuse_does(connect: Callable[..., Any], settings: Any) -> None:
    chosen = RetrievalSettings(**settings)
    modes = open_modes(connect(), Corpus.from_dict(TEXTS), chosen)
    parts = [modes[mode].search(["laminar flow"], 100)[0] for mode in ("lexical", "vector")]
    expected = fuse_rankings(parts, fusion_of(chosen), 3)
    (merged,) = modes["hybrid"].search(["laminar flow"], 3)
    assert (merged.doc_ids, merged.scores.tolist()) == (
        expected.doc_ids,
        expected.scores.tolist(),
    )


def test_the_server_merges_by_ranks_on_request(connect: Callable[..., Any]) -> None:
    settings = RetrievalSettings(fusion="rrf", rrf_k=10)
    modes = open_modes(connect(), Corpus.from_dict(TEXTS), settings, server_fusion=True)
    parts = [modes[mode].search(["laminar flow"], 100)[0] for mode in ("lexical", "vector")]
    expected = fuse_rankings(parts, fusion_of(settings))
    calls = []
    connection = modes["hybrid"]._collection.connection
    call = connection.call
    connection.call = lambda name, *rest, **more: calls.append(name) or call(name, *rest, **more)
    (merged,) = modes["hybrid"].search(["laminar flow"], 3)
    assert calls == ["hybrid_search"]
    assert merged.doc_ids == expected.doc_ids[:3]
    assert merged.scores == pytest.approx(expected.scores[:3], rel=1e-5)


def test_names_of_modes_and_default_weights(connect: Callable[..., Any]) -> None:
    from trectools_plus.retrieval.backends.milvus import backend as milvus_search
    from trectools_plus.retrieval.backends.milvus.collection import open_collection

    connection, corpus = connect(), Corpus.from_dict(TEXTS)
    merged = []
    for weights in (None, (0.6, 0.4)):
        settings = RetrievalSettings(weights=weights)
        collection = open_collection(connection, corpus, settings)
        modes = milvus_search.open_modes(collection, ["dense", "bm25", "hybrid"], settings)
        assert [modes[name].name for name in modes] == ["vector", "lexical", "hybrid"]
        (ranking,) = modes["hybrid"].search(["laminar flow"], 3)
        merged.append((ranking.doc_ids, ranking.scores.tolist()))
    assert merged[0] == merged[1]


def test_refuses_a_depth_beyond_the_servers_limit(connect: Callable[..., Any]) -> None:
    modes = open_modes(connect(), Corpus.from_dict(TEXTS))
    assert len(modes["vector"].search(["wing"], 16_384)[0]) == 4
    for mode in MODES:
        with pytest.raises(UsageError, match="16,384"):
            modes[mode].search(["wing"], 16_385)
