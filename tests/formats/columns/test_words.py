"""Texts as words behave like texts, whatever their lengths and bytes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.columns.ids import MARGIN, Ids, PairTable

TEXT = st.one_of(
    st.sampled_from(["", "a", "A", "b", "12345678", "123456789", "é", "中文", "a\0", "a\0b", "\0"]),
    st.text(max_size=6),
    st.integers(MARGIN - 1, MARGIN + 2).map("x".__mul__),
    st.sampled_from(["y", "z", "zz", "Y", "\0"]).map(lambda end: "x" * MARGIN + end),
)
TEXTS = st.lists(TEXT, min_size=1, max_size=12)


@given(TEXTS)
def test_texts_are_kept(texts: list[str]) -> None:
    for ids in (Ids.of_texts(texts), Ids.of_series(pl.Series(texts, dtype=pl.String))):
        assert ids.texts() == texts
        assert ids.series().to_list() == texts
        assert [ids.text(row) for row in range(len(texts))] == texts
        assert ids.changes().tolist() == [a != b for a, b in pairwise(texts)]
        assert ids.differ_from(texts[0]).tolist() == [
            row for row, text in enumerate(texts) if text != texts[0]
        ]
    constant = Ids.constant(texts[0], 5)
    assert constant.texts() == [texts[0]] * 5
    assert constant.series().to_list() == [texts[0]] * 5


@given(TEXTS, TEXTS)
def test_texts_are_compared_as_bytes(ours: list[str], theirs: list[str]) -> None:
    pairs = [(a, b) for a in ours for b in theirs]
    left, right = (Ids.of_texts(side) for side in zip(*pairs, strict=True))
    assert left.equal(right).tolist() == [a == b for a, b in pairs]
    joined = Ids.joined([Ids.of_texts(ours), Ids.of_texts(theirs), Ids.constant("a", 2)])
    assert joined.texts() == [*ours, *theirs, "a", "a"]


@pytest.mark.parametrize("collide", [False, True])
@given(texts=TEXTS)
def test_texts_are_numbered_by_first_appearance(collide: bool, texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(Ids, "hashes", lambda ids: ids.words[0] & np.uint64(0))
        number, first = Ids.of_texts(texts).numbered()
    distinct = list(dict.fromkeys(texts))
    assert [distinct[one] for one in number.tolist()] == texts
    assert first.tolist() == [texts.index(one) for one in distinct]


PAIRS = st.lists(st.tuples(st.integers(0, 5), TEXT), min_size=1, max_size=12)


@pytest.mark.parametrize("collide", [False, True])
@given(known=PAIRS, asked=PAIRS)
def test_pairs_are_found_once(
    collide: bool, known: list[tuple[int, str]], asked: list[tuple[int, str]]
) -> None:
    def columns(pairs: list[tuple[int, str]]) -> tuple[Ids, np.ndarray]:
        return Ids.of_texts([doc_id for _, doc_id in pairs]), np.array([one for one, _ in pairs])

    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(Ids, "hashes", lambda ids: ids.words[0] & np.uint64(0))
        table = PairTable(*columns(known))
        places, pairs = table.find(*columns(asked))
        unknown = table.find(columns(asked)[0], np.full(len(asked), -1))[0]
        has_any = table.has_any(columns(asked)[0])
    expected = [(at, known.index(pair)) for at, pair in enumerate(asked) if pair in known]
    assert list(zip(places.tolist(), pairs.tolist(), strict=True)) == expected
    assert not len(unknown)
    documents = {doc_id for _, doc_id in known}
    assert has_any == any(doc_id in documents for _, doc_id in asked)
