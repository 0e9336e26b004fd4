"""The fast path of multi-vector search against a plain loop over documents and parts."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import InputError
from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.backends.embedded import build_indexes
from trectools_plus.retrieval.index.encoder import TextEncoder
from trectools_plus.retrieval.index.parts import (
    AGGREGATIONS,
    KINDS,
    TextParts,
)
from trectools_plus.retrieval.index.vector import MultiVectorRetriever, nearest_documents
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Ranking

ROWS = [
    ("t1", "label", "Seizure"),
    ("t1", "synonym", "Epileptic seizure"),
    ("t1", "synonym", "Fits"),
    ("t1", "definition", "An intermittent abnormality of the nervous system."),
    ("t2", "label", "Microcephaly"),
    ("t3", "label", "Short stature"),
    ("t3", "synonym", "Small build"),
    ("t4", "definition", "Height below the third percentile."),
]


def frame_of(rows: list[tuple[str, str, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["doc_id", "kind", "text"], orient="row")


def unit_rows(count: int, seed: int, dimensions: int = 8) -> np.ndarray:
    # Few directions, so that there are many ties.
    pool = np.random.default_rng(seed).normal(size=(4, dimensions)).astype(np.float32)
    pool /= np.linalg.norm(pool, axis=1, keepdims=True)
    pool = np.vstack([pool, np.zeros((1, dimensions), dtype=np.float32)])
    return pool[np.random.default_rng(seed + 1).integers(0, len(pool), count)]


WEIGHTS = {"label": 0.5, "synonym": 0.3, "definition": 0.2}


def plain_score(strategy: str, scores: Mapping[str, list[float]]):
    """The score of one document from the scores of its parts by kind; ``None`` without any."""
    if strategy == "all_weighted":
        total = sum(WEIGHTS[kind] for kind in scores)
        return sum(WEIGHTS[kind] * max(scores[kind]) for kind in scores) / total
    kinds = {"label_only": ["label"], "all_max": list(KINDS)}.get(strategy, ["label", "synonym"])
    values = [value for kind in kinds for value in scores.get(kind, [])]
    return max(values, default=None)


documents = st.dictionaries(
    st.text("abcé漢", min_size=1, max_size=3),
    st.tuples(st.booleans(), st.integers(0, 4), st.booleans()).filter(any),
    min_size=1,
    max_size=12,
)


@given(
    documents=documents,
    strategy=st.sampled_from([*AGGREGATIONS]),
    seed=st.integers(0, 500),
    depth=st.integers(1, 14),
    at_once=st.sampled_from([1, 30, 1 << 24]),
)
def test_equals_a_plain_loop(documents, strategy, seed, depth, at_once) -> None:
    rows = []
    for doc_id, (label, synonyms, definition) in documents.items():
        rows += [(doc_id, "label", "x")] * label
        rows += [(doc_id, "synonym", f"x{number}") for number in range(synonyms)]
        rows += [(doc_id, "definition", "x")] * definition
    parts = TextParts.from_frame(frame_of(rows))
    aggregation = AGGREGATIONS[strategy]
    if not len(aggregation.rows_of(parts)):
        return
    vectors, queries = unit_rows(len(rows), seed), unit_rows(3, seed)
    found = list(nearest_documents(vectors, queries, parts, aggregation, depth, at_once))
    for query, (places, scores) in zip(queries, found, strict=True):
        expected = {}
        for doc_id in documents:
            of_kinds: dict[str, list[float]] = {}
            for row, (number, kind) in enumerate(zip(parts.documents, parts.kinds, strict=True)):
                if parts.doc_ids[number] == doc_id:
                    product = float((vectors[row].astype(float) * query.astype(float)).sum())
                    of_kinds.setdefault(KINDS[kind], []).append(product)
            score = plain_score(strategy, of_kinds)
            if score is not None:
                expected[doc_id] = score
        exact = {doc_id: float(np.float32(score)) for doc_id, score in expected.items()}
        got = [parts.doc_ids[place] for place in places]
        assert len(got) == min(depth, len(exact)) == len(set(got))
        for doc_id, score in zip(got, scores.tolist(), strict=True):
            assert math.isclose(score, exact[doc_id], rel_tol=1e-6, abs_tol=1e-7)
        ranked = list(zip(scores.tolist(), got, strict=True))
        assert ranked == sorted(ranked, key=lambda pair: (pair[0], pair[1].encode()), reverse=True)
        if strategy != "all_weighted":
            # No arithmetic behind the products: the very same numbers, and so the same cut.
            order = sorted(exact, key=lambda doc_id: (exact[doc_id], doc_id.encode()), reverse=True)
            assert got == order[:depth]


def test_near_ties_closer_than_32_bit_products_can_tell() -> None:
    rng = np.random.default_rng(5)
    query = rng.normal(size=(1, 256)).astype(np.float32)
    query /= np.linalg.norm(query)
    vectors = query + rng.normal(scale=3e-8, size=(3000, 256)).astype(np.float32)
    ids = [f"d{number:04d}" for number in range(1000)]
    rows = [(doc_id, "label", "x") for doc_id in ids]
    rows += [(doc_id, "synonym", text) for doc_id in ids for text in ("x", "y")]
    parts = TextParts.from_frame(frame_of(rows))
    exact = (vectors.astype(float) * query.astype(float)).sum(axis=1).astype(np.float32)
    best = exact.reshape(1000, 3).max(axis=1)
    expected = sorted(range(1000), key=lambda row: (-best[row], row))[:10]
    aggregation = AGGREGATIONS["label_synonyms_max"]
    ((places, scores),) = nearest_documents(vectors, query, parts, aggregation, 10)
    assert places.tolist() == expected
    assert scores.tolist() == best[expected].tolist()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "label", " ")], "the documents have no text"),
    ],
)
def test_unusable_parts_are_refused(rows, message) -> None:
    with pytest.raises(InputError, match=message):
        TextParts.from_frame(frame_of(rows))


def retriever_of(strategy: str, rows=ROWS) -> MultiVectorRetriever:
    chosen = RetrievalSettings(aggregation_strategy=strategy)
    return MultiVectorRetriever(TextParts.from_frame(frame_of(rows)), chosen)


def scores_of(ranking: Ranking) -> dict[str, float]:
    return dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))


def test_each_strategy_by_hand() -> None:
    encoder = TextEncoder()
    query = "epileptic seizure"
    texts = [text for _, _, text in ROWS]
    cosines = (
        encoder.embed_documents(texts).astype(float)
        @ encoder.embed_documents([query])[0].astype(float)
    ).tolist()
    label, epileptic, fits, definition = cosines[:4]
    expected = {
        "label_only": label,
        "label_synonyms_max": max(label, epileptic, fits),
        "all_max": max(cosines[:4]),
        "all_weighted": 0.5 * label + 0.3 * max(epileptic, fits) + 0.2 * definition,
    }
    for strategy, value in expected.items():
        found = scores_of(retriever_of(strategy).search([query], 10)[0])
        assert found["t1"] == pytest.approx(value, abs=1e-6), strategy
        # Only a label: whatever the strategy, that is the score.
        assert found["t2"] == pytest.approx(cosines[4], abs=1e-6)
        assert ("t4" in found) == strategy.startswith("all")
    weighted = scores_of(retriever_of("all_weighted").search([query], 10)[0])
    # Without a definition, its weight goes to label and synonyms in their proportion.
    assert weighted["t3"] == pytest.approx((0.5 * cosines[5] + 0.3 * cosines[6]) / 0.8, abs=1e-6)


def test_a_strategy_without_anything_to_look_at_is_refused() -> None:
    with pytest.raises(InputError, match="label_only"):
        retriever_of("label_only", [("a", "definition", "x")])


def test_indexes_are_built_once_and_named_by_their_keys() -> None:
    corpus = Corpus.from_dict({"a": "fox", "b": "dog"})
    chosen = RetrievalSettings(multi_vector=True, reranker="lexical")
    first = build_indexes(corpus, ["hybrid", "lexical"], chosen)
    assert [(one.kind, one.reused) for one in first] == [
        ("lexical", False),
        ("multi-vector", False),
    ]
    assert all(one.folder.is_dir() and one.key[:32] in one.folder.name for one in first)
    again = build_indexes(corpus, ["vector", "all_max"], chosen)
    assert [(one.key, one.reused) for one in again] == [(first[1].key, True)]
    assert again[0].bytes == sum(file.stat().st_size for file in first[1].folder.iterdir())
