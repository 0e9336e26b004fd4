import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from trectools_plus.extraction.names import (
    EXACT,
    LABEL,
    Name,
    WordEndings,
    WordReplacements,
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


def test_words_that_name_one_term_are_trusted_and_others_are_not():
    organs = [f"organ{number}" for number in range(6)]
    names = []
    for organ in organs:
        names += [name(f"cyst-{organ}", f"{organ} cyst"), name(f"cyst-{organ}", f"{organ} bleb", 1)]
        names += [name(f"left-{organ}", f"left {organ}"), name(f"right-{organ}", f"right {organ}")]
    replacements = WordReplacements(names)
    expected = binomtest(6, 6, alternative="greater").proportion_ci(0.95, method="wilson").low
    assert replacements.trust(["large", "bleb"], ["cyst", "large"]) == pytest.approx(expected)
    assert replacements.trust(["left", "organ0"], ["right", "organ0"]) == 0
    assert replacements.trust(["organ0", "left"], ["left", "organ0"]) == 1
    assert replacements.trust(["bleb"], ["cyst"]) == 0  # nothing is left in common
    assert replacements.trust(["a", "bleb"], ["a", "cyst", "b"]) == 0
    assert replacements.trust(["a", "bleb"], ["b", "cyst"]) == 0


def test_an_exchange_that_also_leads_astray_is_trusted_less():
    names = [name("a", "big nose"), name("a", "large nose", EXACT)]
    names += [name("b", "big ear"), name("c", "large ear")]
    assert WordReplacements(names).trust(["big", "x"], ["large", "x"]) == pytest.approx(
        wilson_low(1, 2)
    )


def ontology_names():
    """Names whose endings vary as in the ontology: plurals, adjectives, and unrelated words."""
    names = []
    for organ in ("ven", "scapul", "ulner", "lamin", "papill"):
        names += [name(organ, f"{organ}a pain"), name(organ, f"{organ}e pain", EXACT)]
    for number, organ in enumerate(("hepat", "nephr", "gastr", "dermat", "arthr")):
        names += [name(f"a{number}", f"{organ}ic cyst"), name(f"b{number}", f"{organ}itis cyst")]
    return names


def test_endings_of_one_term_are_trusted_for_words_that_no_name_contains():
    endings = WordEndings([*ontology_names(), name("f", "fistula")])
    expected = binomtest(5, 5, alternative="greater").proportion_ci(0.95, method="wilson").low
    assert endings.stems("fistule") == {"fistula": pytest.approx(expected)}
    assert endings.trust("fistula", "fistule") == pytest.approx(expected)


def test_endings_of_different_terms_are_not_trusted():
    endings = WordEndings([*ontology_names(), name("c", "carditis")])
    assert endings.trust("cardic", "carditis") == 0
    assert endings.stems("cardic") == {}
    assert endings.trust("same", "same") == endings.trust("cyst", "cysts") == 1


@given(st.text("aeisx", max_size=8), st.text("aeisx", max_size=8))
def test_trust_in_endings_is_symmetric_and_a_proportion(first, second):
    endings = WordEndings(ontology_names())
    assert endings.trust(first, second) == endings.trust(second, first)
    assert 0 <= endings.trust(first, second) <= 1
