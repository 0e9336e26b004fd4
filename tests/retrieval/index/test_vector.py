from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wordllama
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.index.encoder import TextEncoder
from trectools_plus.retrieval.index.vector import VectorRetriever, nearest
from trectools_plus.retrieval.settings import RetrievalSettings


@pytest.fixture(scope="module")
def encoder() -> TextEncoder:
    return TextEncoder()


@pytest.fixture(scope="module")
def library() -> Any:
    return wordllama.WordLlama.load(
        "l2_supercat", cache_dir=Path(wordllama.__file__).parent, dim=256, disable_download=True
    )


def unit_rows(count: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, 256)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_empty_texts_are_zero_vectors(encoder: TextEncoder) -> None:
    vectors = encoder.embed_documents(["", "heart", "  \n"])
    assert vectors.dtype == np.float32
    assert not vectors[[0, 2]].any()
    assert np.linalg.norm(vectors[1]) == pytest.approx(1)
    assert encoder.embed_documents([]).shape == (0, 256)


def test_a_vector_depends_on_its_text_alone(encoder: TextEncoder) -> None:
    texts = [" ".join(["heart", "attack", "é漢"] * n) for n in (1, 50, 2, 0, 700, 3)]
    alone = np.vstack([encoder.embed_documents([text]) for text in texts])
    assert (encoder.embed_documents(texts) == alone).all()
    assert (encoder.embed_documents(texts * 40)[-6:] == alone).all()


@given(texts=st.lists(st.text() | st.sampled_from(["Heart attack", "wing " * 400]), max_size=9))
def test_vectors_equal_those_of_the_library(
    encoder: TextEncoder, library: Any, texts: list[str]
) -> None:
    vectors = encoder.embed_documents(texts)
    assert (encoder.embed_queries(texts) == vectors).all()
    for text, vector in zip(texts, vectors, strict=True):
        cleaned = unicodedata.normalize("NFC", text.lower()).strip()
        expected = library.embed([cleaned], norm=False)
        length = np.linalg.norm(expected, axis=1)
        assert (vector == (expected[0] / length if length else expected[0])).all()


@given(
    seed=st.integers(0, 1000),
    copies=st.integers(1, 30),
    depth=st.integers(1, 60),
    block=st.sampled_from([1, 7, 64, 1 << 22]),
)
def test_equals_brute_force_with_ties(seed: int, copies: int, depth: int, block: int) -> None:
    documents = np.repeat(unit_rows(10, seed), copies, axis=0)
    documents = np.vstack([documents, np.zeros((2, 256), dtype=np.float32)])
    queries = unit_rows(1 + seed % 7, seed + 1)
    results = nearest(documents, queries, depth, block)
    for query, (rows, scores) in zip(queries, results, strict=True):
        wide = documents.astype(np.float64) * query.astype(np.float64)
        exact = wide.sum(axis=1).astype(np.float32)
        expected = sorted(range(len(exact)), key=lambda row: (-exact[row], row))[:depth]
        assert rows.tolist() == expected
        assert scores.tolist() == exact[expected].tolist()


def test_near_ties_closer_than_32_bit_products_can_tell() -> None:
    query = unit_rows(1, 5)
    noise = np.random.default_rng(6).normal(scale=3e-8, size=(2000, 256)).astype(np.float32)
    documents = query + noise
    exact = (documents.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    exact = exact.astype(np.float32)
    expected = sorted(range(2000), key=lambda row: (-exact[row], row))[:10]
    ((rows, _),) = nearest(documents, query, 10)
    assert rows.tolist() == expected


def test_search(encoder: TextEncoder) -> None:
    texts = {"a": "heart attack", "b": "myocardial infarction", "c": "airplane wing", "d": ""}
    documents = Corpus.from_dict(texts)
    retriever = VectorRetriever(documents, RetrievalSettings())
    heart, nothing = retriever.search(["cardiac infarction", " "], 10)
    assert heart.doc_ids[0] == "b"
    assert dict(zip(heart.doc_ids, heart.scores.tolist(), strict=True))["d"] == 0
    assert len(nothing) == 0
    assert retriever.search([], 10) == []
    twin = retriever.search(["cardiac infarction"], 2)[0]
    assert (twin.doc_ids, twin.scores.tolist()) == (heart.doc_ids[:2], heart.scores[:2].tolist())
