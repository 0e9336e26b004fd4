import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from trectools_plus.extraction.words import (
    LABEL,
    Name,
    learn_replacements,
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


WORDS = st.lists(st.sampled_from("abcde"), min_size=1, max_size=3)


@given(st.lists(st.tuples(st.sampled_from("xyz"), WORDS), max_size=12))
def test_the_trust_in_a_replacement_is_that_of_counted_names(pairs):
    """Of the names that become another name by the replacement, those of the same term count."""
    keys = {(term, tuple(sorted(words))) for term, words in pairs}
    terms = {}
    for term, key in keys:
        terms.setdefault(key, set()).add(term)
    same, all_names = {}, {}
    for key, own in terms.items():
        for others, in_text in {((*key[:n], *key[n + 1 :]), key[n]) for n in range(len(key))}:
            for in_name in set("abcde") - {in_text}:
                replaced = terms.get(tuple(sorted((*others, in_name)))) if others else None
                if replaced:
                    pair = in_text, in_name
                    all_names[pair] = all_names.get(pair, 0) + 1
                    same[pair] = same.get(pair, 0) + bool(own & replaced)
    found = learn_replacements(name(term, " ".join(words)) for term, words in pairs)
    assert {(a, b): trust for a, own in found.items() for b, trust in own.items()} == {
        pair: pytest.approx(wilson_low(count, all_names[pair]))
        for pair, count in same.items()
        if count
    }


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
