"""Settings that Milvus does not support are refused before anything is inserted."""

from __future__ import annotations

from typing import Any

import pytest

from trectools_plus.errors import UsageError
from trectools_plus.retrieval.backends.milvus.settings import check_settings
from trectools_plus.retrieval.settings import RetrievalSettings


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"k1": 0}, "k1 above 0 and up to 3 but got 0 — --set k1"),
        ({"rrf_k": 0}, "rrf_k from 1 to 16383 but got 0"),
        ({"fusion": "weighted", "normalisation": "z-score"}, "by arc tangent"),
        ({"fusion": "borda"}, "merges rankings by rrf or weighted, not by borda"),
        ({"fusion": "weighted", "missing_documents": "zero"}, "--set missing_documents"),
        ({"fusion": "weighted", "weights": (2, 1)}, "weights from 0 to 1"),
        ({"fusion": "weighted", "weights": (1, 1, 1)}, "expected 2 weights but got 3"),
        ({"multi_vector": True}, "built-in embeddings of whole documents — --set multi_vector"),
        ({"embedding_model": "dir"}, "--set embedding_model"),
        ({"reranker": "lexical"}, "has no reranker.* — --set reranker"),
    ],
)
def test_refuses_what_milvus_cannot_do(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_settings(RetrievalSettings(**values))
