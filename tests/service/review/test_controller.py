"""Orders are shuffles: complete, repeatable, and even."""

from collections import Counter
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from trectools_plus.service.review.controller import shuffled

NAMES = st.lists(st.text(max_size=5), unique=True, max_size=8)


@given(NAMES, st.integers(0, 2**62), st.text(max_size=5), st.text(max_size=5))
def test_orders_are_permutations_that_repeat(names, seed, annotator, query_id):
    ordered = shuffled(names, seed, "mode", annotator, query_id)
    assert sorted(ordered) == sorted(names)
    assert shuffled(names[::-1], seed, "mode", annotator, query_id) == ordered
    queries = shuffled(names, seed, "query")
    assert sorted(queries) == sorted(names)
    assert shuffled(names[::-1], seed, "query") == queries


def test_every_order_of_columns_is_as_likely():
    modes = ["lexical", "vector", "hybrid"]
    found = Counter(tuple(shuffled(modes, 7, "mode", "anna", f"q{n}")) for n in range(6000))
    assert set(found) == set(permutations(modes))
    assert chisquare(list(found.values())).pvalue > 0.001
