"""Batches of documents for one request, and the limit of a text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.tables import CorpusDocument
from trectools_plus.retrieval.backends.milvus.collection import join_terms, split_into_batches

MAX_TEXT_BYTES = 65_535
MAX_ROWS = 1_000
MAX_CHARACTERS = 4 << 20


@given(st.lists(st.text(alphabet="aé漢", min_size=1, max_size=9), max_size=12), st.integers(1, 60))
def test_fitting_keeps_whole_words(terms: list[str], room: int) -> None:
    """A long first term leaves little room for the others."""
    terms = ["x" * (MAX_TEXT_BYTES - room), *terms]
    text, is_cut = join_terms(terms)
    kept = text.split()
    assert kept == terms[: len(kept)]
    assert len(text.encode()) <= MAX_TEXT_BYTES
    assert is_cut == (len(kept) < len(terms))
    if is_cut:
        assert len(" ".join(terms[: len(kept) + 1]).encode()) > MAX_TEXT_BYTES


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just(1), st.integers(0, 5 << 20)),
            st.tuples(st.sampled_from([3, 400, 999, 1000, 1001]), st.integers(0, 50)),
        ),
        max_size=12,
    )
)
def test_batches_are_bounded(groups: list[tuple[int, int]]) -> None:
    documents = [
        CorpusDocument(f"{group}-{place}", "", text)
        for group, (count, size) in enumerate(groups)
        for text in ["x" * size]
        for place in range(count)
    ]
    made = list(split_into_batches(iter(documents)))
    assert [document for batch in made for document in batch] == documents
    sizes = [sum(len(document.text) for document in batch) for batch in made]
    for batch, size in zip(made, sizes, strict=True):
        assert 1 <= len(batch) <= MAX_ROWS
        assert len(batch) == 1 or size <= MAX_CHARACTERS
    for batch, size, following in zip(made, sizes, made[1:], strict=False):
        assert len(batch) == MAX_ROWS or size + len(following[0].text) > MAX_CHARACTERS
