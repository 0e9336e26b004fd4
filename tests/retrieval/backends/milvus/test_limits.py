"""Settings that Milvus does not support are refused before anything is inserted."""

from __future__ import annotations

from typing import Any

import pytest

from trectools_plus.errors import UsageError
from trectools_plus.retrieval.backends.milvus.support import check_settings
from trectools_plus.retrieval.settings import RetrievalSettings


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"k1": 0}, "k1 above 0 and up to 3 but got 0 — --set k1"),
        ({"weights": (1, 1, 1)}, "no mode 'splade' that hybrid could merge — --set weights"),
        ({"components": ("bm25", "ngram")}, "no mode 'ngram' .* — --set components"),
        ({"multi_vector": True}, "built-in embeddings of whole documents — --set multi_vector"),
        ({"embedding_model": "dir"}, "--set embedding_model"),
        ({"reranker": "lexical"}, "has no reranker.* — --set reranker"),
    ],
)
def test_refuses_what_milvus_cannot_do(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_settings(RetrievalSettings(**values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"fusion": "rrf", "rrf_k": 0}, "rrf_k from 1 to 16383 but got 0"),
        ({}, "only by rrf, not by weighted — milvus.server_fusion"),
        ({"fusion": "borda"}, "only by rrf, not by borda"),
    ],
)
def test_refuses_what_the_server_cannot_merge(values: dict[str, Any], message: str) -> None:
    check_settings(RetrievalSettings(**values))
    with pytest.raises(UsageError, match=message):
        check_settings(RetrievalSettings(**values), server_fusion=True)
