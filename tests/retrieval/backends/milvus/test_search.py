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
from trectools_plus.retrieval.backends.embedded.backend import EmbeddedBackend, build_retrievers
from trectools_plus.retrieval.backends.embedded.modes import MODES
from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch, fetch_runs
from trectools_plus.retrieval.settings import RetrievalSettings

TEXTS = {
    "wing": "flow over a swept wing",
    "heat": "heat transfer in laminar flow",
    "shell": "buckling of thin shells",
    "blank": "",
}


def open_modes(connection: Any, corpus: Corpus, settings: RetrievalSettings | None = None) -> Any:
    from trectools_plus.retrieval.backends.milvus import backend as milvus_search
    from trectools_plus.retrieval.backends.milvus.collection import open_collection

    settings = settings or RetrievalSettings()
    collection = open_collection(connection, corpus, settings)
    return milvus_search.open_modes(collection, MODES, settings)


def assert_same_up_to_ties(found: dict[str, float], expected: dict[str, float], scale: float):
    """The same documents in the same order, but where scores are equal to six digits."""
    ranked = sorted(found, key=lambda doc_id: -found[doc_id])
    wanted = [expected.get(doc_id, min(expected.values())) for doc_id in ranked]
    assert len(found) == len(expected)
    assert np.array(list(found.values())) == pytest.approx(
        scale * np.array(sorted(expected.values(), reverse=True)), rel=1e-5, abs=1e-6
    )
    assert np.diff(wanted).max(initial=0) <= 1e-5 * max(map(abs, wanted))


def test_agrees_with_the_embedded_modes_on_cranfield(
    connect: Callable[..., Any], ir_datasets_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
    collection = load_collection("irds:cranfield")
    assert collection.corpus is not None
    settings = RetrievalSettings(batch_size=75, fusion="rrf")
    backend = EmbeddedBackend(open_modes(connect(), collection.corpus, settings))
    request = FetchRequest(None, collection.topics, MODES, settings=settings, backend=backend)
    found = fetch_runs(request)
    expected = fetch(collection.corpus, collection.topics, MODES, settings=settings)
    for mode, scale in (("lexical", 1 + settings.k1), ("vector", 1.0), ("hybrid", 1.0)):
        ours, theirs = found[mode].run.to_dict(), expected[mode].run.to_dict()
        assert ours.keys() == theirs.keys()
        assert len(ours) == 225
        if mode != "hybrid":
            for query_id, ranking in ours.items():
                assert_same_up_to_ties(ranking, theirs[query_id], scale)
        else:
            # Ranks in a tie are the server's, so sums of 1/(60 + rank) may differ a little.
            for query_id, ranking in ours.items():
                common = ranking.keys() & theirs[query_id].keys()
                assert len(common) >= 98
                assert max(abs(ranking[one] - theirs[query_id][one]) for one in common) < 1e-3


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


@pytest.mark.parametrize("fusion", ["rrf", "weighted"])
def test_the_server_merges(connect: Callable[..., Any], fusion: Any) -> None:
    settings = RetrievalSettings(fusion=fusion, rrf_k=10, weights=(0.25, 0.75))
    modes = open_modes(connect(), Corpus.from_dict(TEXTS), settings)
    parts = [modes[mode].search(["laminar flow"], 100)[0] for mode in ("lexical", "vector")]
    sums: dict[str, float] = {}
    for part, weight, is_lexical in zip(parts, settings.weights, (True, False), strict=True):
        for rank, (doc_id, score) in enumerate(zip(part.doc_ids, part.scores, strict=True), 1):
            normalised = np.arctan(score) / np.pi
            normalised = 2 * normalised if is_lexical else 0.5 + normalised
            value = 1 / (10 + rank) if fusion == "rrf" else weight * normalised
            sums[doc_id] = sums.get(doc_id, 0) + float(value)
    merged = modes["hybrid"].search(["laminar flow"], 3)[0]
    assert merged.doc_ids == sorted(sums, key=lambda one: -sums[one])[:3]
    assert merged.scores == pytest.approx([sums[doc_id] for doc_id in merged.doc_ids], rel=1e-5)


def test_names_of_modes_and_equal_weights(connect: Callable[..., Any]) -> None:
    from trectools_plus.retrieval.backends.milvus import backend as milvus_search
    from trectools_plus.retrieval.backends.milvus.collection import open_collection

    connection, corpus = connect(), Corpus.from_dict(TEXTS)
    merged = []
    for weights in (None, (0.5, 0.5)):
        settings = RetrievalSettings(fusion="weighted", weights=weights)
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
        with pytest.raises(UsageError, match="at most 16,384 documents"):
            modes[mode].search(["wing"], 16_385)
