"""Numbers of pairs of query and document."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.columns import ids as pair_table
from trectools_plus.formats.columns.ids import Ids, number_pairs

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "é", "d" * 70, "d" * 71])))


@given(pairs=PAIRS, collide=st.booleans())
def test_equal_pairs_have_equal_numbers(pairs: list[tuple[int, str]], collide: bool) -> None:
    query = np.array([one for one, _ in pairs], np.int64)
    with pytest.MonkeyPatch.context() as patch:
        if collide:  # keys are hashes, which may be equal for different pairs
            patch.setattr(
                pair_table, "_keys", lambda _ids, query, _bits: query.astype(np.uint64) // 2
            )
        numbers = number_pairs(Ids.of_texts([text for _, text in pairs]), query).tolist()
    assert len(set(zip(pairs, numbers, strict=True))) == len(set(pairs)) == len(set(numbers))
    assert set(numbers) == set(range(len(set(pairs))))
