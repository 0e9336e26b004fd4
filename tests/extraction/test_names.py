import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from trectools_plus.extraction.names import (
    EXACT,
    LABEL,
    Name,
    WordReplacements,
    other_forms,
    wilson_low,
)


def name(term_id, text, rank=LABEL):
    words = tuple(text.lower().split())
    return Name(term_id, text, rank, words, words, False, False, False)


@given(st.integers(0, 60), st.integers(1, 60))
def test_lower_end_is_scipys_one_sided_wilson_interval(successes, trials):
    successes = min(successes, trials)
    expected = binomtest(successes, trials, alternative="greater").proportion_ci(
        0.95, method="wilson"
    )
    assert wilson_low(successes, trials) == pytest.approx(expected.low, abs=1e-12)


def test_an_exchange_that_also_leads_astray_is_trusted_less():
    names = [name("a", "big nose"), name("a", "large nose", EXACT)]
    names += [name("b", "big ear"), name("c", "large ear")]
    trust = WordReplacements(names).replacements("big")["large"]
    assert trust == pytest.approx(wilson_low(1, 2))


@pytest.mark.parametrize(
    ("in_text", "in_name"),
    [
        ("cysts", "cyst"),
        ("fistule", "fistula"),
        ("carcinomata", "carcinoma"),
        ("thrombi", "thrombus"),
        ("microcephalic", "microcephaly"),
        ("hypotonic", "hypotonia"),
        ("anomalies", "anomaly"),
    ],
)
def test_words_have_the_endings_of_names(in_text, in_name):
    assert in_name in other_forms(in_text)
    assert in_text not in other_forms(in_text)
