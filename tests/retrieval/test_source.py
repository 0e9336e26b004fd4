from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from trectools_plus.retrieval.source import rank_scores, top_positions

# Few distinct values, so that ties at the cutoff are the rule.
tied_scores = hnp.arrays(np.float32, st.integers(0, 40), elements=st.sampled_from([-1, 0, 0.5, 2]))


@given(tied_scores, st.integers(1, 45))
def test_equals_a_full_sort(scores: np.ndarray, depth: int) -> None:
    expected = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:depth]
    assert top_positions(scores, depth).tolist() == expected


@given(
    st.dictionaries(st.text(min_size=1, max_size=3), st.sampled_from([0.0, 1.0, 1.000000001, 2])),
    st.integers(1, 12),
)
def test_rank_scores_in_canonical_order(table: dict[str, float], depth: int) -> None:
    ranking = rank_scores(list(table), np.array(list(table.values()), dtype=float), depth)
    expected = sorted(
        table, key=lambda doc: (np.float32(table[doc]), doc.encode("utf-8", "surrogatepass"))
    )[::-1][:depth]
    assert ranking.doc_ids == expected
    assert ranking.scores.tolist() == [np.float32(table[doc]) for doc in expected]
