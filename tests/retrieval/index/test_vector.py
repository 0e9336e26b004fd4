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
from trectools_plus.retrieval.index.vector import VectorRetriever


@pytest.fixture(scope="module")
def encoder() -> TextEncoder:
    return TextEncoder()


@pytest.fixture(scope="module")
def library() -> Any:
    return wordllama.WordLlama.load(
        "l2_supercat", cache_dir=Path(wordllama.__file__).parent, dim=256, disable_download=True
    )


def test_empty_texts_are_zero_vectors(encoder: TextEncoder) -> None:
    vectors = encoder.embed_documents(["", "heart", "  \n"])
    assert vectors.dtype == np.float32
    assert not vectors[[0, 2]].any()
    assert np.linalg.norm(vectors[1]) == pytest.approx(1)
    assert encoder.embed_documents([]).shape == (0, 256)


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


def test_search(encoder: TextEncoder) -> None:
    texts = {"a": "heart attack", "b": "myocardial infarction", "c": "airplane wing", "d": ""}
    documents = Corpus.from_dict(texts)
    retriever = VectorRetriever(documents)
    heart, nothing = retriever.search(["cardiac infarction", " "], 10)
    assert heart.doc_ids[0] == "b"
    assert dict(zip(heart.doc_ids, heart.scores.tolist(), strict=True))["d"] == 0
    assert len(nothing) == 0
    assert retriever.search([], 10) == []
    twin = retriever.search(["cardiac infarction"], 2)[0]
    assert (twin.doc_ids, twin.scores.tolist()) == (heart.doc_ids[:2], heart.scores[:2].tolist())
