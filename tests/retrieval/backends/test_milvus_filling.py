"""What goes into one request, and how much of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.corpus import Document
from trectools_plus.retrieval.backends import milvus_filling
from trectools_plus.retrieval.backends.milvus_filling import batches, fitting


@given(st.lists(st.text(alphabet="aé漢", min_size=1, max_size=9), max_size=12), st.integers(1, 60))
def test_fitting_keeps_whole_words(terms: list[str], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(milvus_filling, "MAX_TEXT_BYTES", limit)
        text, is_cut = fitting(terms)
    kept = text.split()
    assert kept == terms[: len(kept)]
    assert len(text.encode()) <= limit
    assert is_cut == (len(kept) < len(terms))
    if is_cut:
        assert len(" ".join(terms[: len(kept) + 1]).encode()) > limit


@given(st.lists(st.integers(0, 50), max_size=30))
def test_batches_are_bounded(lengths: list[int]) -> None:
    documents = [Document(str(place), "", "x" * size) for place, size in enumerate(lengths)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(milvus_filling, "_ROWS_PER_BATCH", 4)
        patch.setattr(milvus_filling, "_CHARACTERS_PER_BATCH", 60)
        made = list(batches(iter(documents)))
    assert [document for batch in made for document in batch] == documents
    for batch in made:
        assert 1 <= len(batch) <= 4
        assert len(batch) == 1 or sum(len(document.text) for document in batch) <= 60
