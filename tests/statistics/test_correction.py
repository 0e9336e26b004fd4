"""Corrections of p-values for multiple comparisons."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from trectools_plus.errors import UsageError
from trectools_plus.statistics import adjust_p_values

METHODS = ["holm", "bh"]
FAMILIES = arrays(np.float64, st.integers(0, 12), elements=st.floats(0, 1))
# Benjamini and Hochberg (1995), section 3.3: fifteen comparisons of a trial of thrombolysis.
TRIAL = [
    *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
    *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
]


@pytest.mark.parametrize(("method", "rejected"), [("holm", 3), ("bh", 4)])
def test_published_example(method, rejected):
    """Holm rejects the three smallest at 5%, the false discovery rate the four smallest."""
    assert (adjust_p_values(TRIAL, method) <= 0.05).sum() == rejected


def test_holm_by_hand():
    adjusted = adjust_p_values([0.04, 0.01, 0.03, 0.005])
    assert adjusted.tolist() == pytest.approx([0.06, 0.03, 0.06, 0.02])


@given(FAMILIES)
def test_benjamini_hochberg_equals_scipy(family):
    if len(family):
        theirs = stats.false_discovery_control(family)
        np.testing.assert_allclose(adjust_p_values(family, "bh"), theirs)


@given(family=FAMILIES, seed=st.integers(0, 50))
def test_corrections_are_ordered_bounded_and_blind_to_order(family, seed):
    adjusted = {method: adjust_p_values(family, method) for method in METHODS}
    assert (family <= adjusted["bh"] + 1e-12).all()
    assert (adjusted["bh"] <= adjusted["holm"] + 1e-12).all()
    assert (adjusted["holm"] <= np.minimum(1.0, family * len(family)) + 1e-12).all()
    order = np.random.default_rng(seed).permutation(len(family))
    for method in METHODS:
        np.testing.assert_array_equal(
            adjust_p_values(family[order], method), adjusted[method][order]
        )


def test_comparisons_not_made_are_not_counted():
    adjusted = adjust_p_values([0.02, np.nan, 0.04], "holm")
    np.testing.assert_allclose(adjusted, [0.04, np.nan, 0.04])


@pytest.mark.parametrize("family", [[1.5], [-0.1], [[0.1]]])
def test_what_is_no_family_is_refused(family):
    with pytest.raises(UsageError, match=r"0.*1"):
        adjust_p_values(family)
    with pytest.raises(UsageError, match="sidak"):
        adjust_p_values([0.1], "sidak")
