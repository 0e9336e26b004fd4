"""Parts of a split: shares, strata, near-duplicates, seeds."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import FormatError, UsageError
from trectools_plus.testsets import load_test_set, write_split
from trectools_plus.testsets.loading import read_test_set
from trectools_plus.testsets.splitting import apportion, apportion_strata, split_test_set

SIZES = st.dictionaries(st.text("abc", max_size=2), st.integers(0, 50), min_size=1)


@given(sizes=SIZES, share=st.fractions(0, 1))
def test_shares_add_up_and_are_less_than_one_off(sizes, share):
    total = int(share * sum(sizes.values()))
    given_ = apportion(total, sizes)
    assert sum(given_.values()) == total
    for key, size in sizes.items():
        exact = Fraction(total * size, sum(sizes.values())) if total else Fraction(0)
        assert abs(given_[key] - exact) < 1
        assert 0 <= given_[key] <= size


def test_a_worked_division():
    # 20 of 21, 26, 53: exact 4.2, 5.2, 10.6
    assert apportion(20, {"a": 21, "b": 26, "c": 53}) == {"a": 4, "b": 5, "c": 11}
    # One query of each difficulty cannot be a fifth, but of the category it can.
    strata = [("a", level) for level in "xyzuv"] + [("b", "x")] * 5
    chosen = apportion_strata(2, strata)
    assert chosen["b", "x"] == 1
    assert sum(count for (category, _), count in chosen.items() if category == "a") == 1


TYPES = ["exact_term"] * 20 + ["paraphrase"] * 15 + ["complex_clinical"] * 15


SIGNS = {f"q{n}": f"sign {n} of illness" for n in range(50)}
NEAR_DUPLICATES = {
    f"q{n}": f"sign {n // 2} of {'ill health' if n % 2 else 'health ill'}" for n in range(50)
}
CATEGORIES = ["synonym", "complex", "layperson", "abbreviation", "exact_match"] * 10


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("texts", "fields", "strata"),
    [
        (SIGNS, {}, "query_type"),
        (SIGNS, {"difficulty": ["easy", "hard"] * 25}, "query_type, difficulty"),
        (NEAR_DUPLICATES, {"category": CATEGORIES}, "query_type, category"),
    ],
)
def test_query_types_have_exact_proportions(maker, seed, texts, fields, strata):
    split = split_test_set(maker.make(texts, query_type=TYPES, **fields), 0.2, seed)
    used, held_out = (
        Counter(query.query_type for query in part.queries) for part in (split.used, split.held_out)
    )
    assert used == {"exact_term": 16, "paraphrase": 12, "complex_clinical": 12}
    assert held_out == {"exact_term": 4, "paraphrase": 3, "complex_clinical": 3}
    assert split.used.metadata.model_extra["split"]["strata"] == strata


@given(
    strata=st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from("12")),
        min_size=1,
        max_size=60,
    ),
    share=st.fractions(0, 1),
)
def test_the_first_field_is_exact_and_cells_are_within_their_size(strata, share):
    total = int(share * len(strata))
    found = apportion_strata(total, strata)
    first = Counter[str]()
    for cell, number in found.items():
        assert 0 <= number <= strata.count(cell)
        first[cell[0]] += number
    assert +first == +Counter(apportion(total, Counter(cell[0] for cell in strata)))


def test_parts_name_where_they_are_from(tmp_path):
    files = write_split(split_test_set(load_test_set("hpo-en-tiny"), 0.3, 5), tmp_path)
    for path, part in zip(files, ("used", "held-out"), strict=True):
        metadata = read_test_set(path).metadata
        assert metadata.dataset_id == f"hpo-en-tiny-{part}"
        split = (metadata.model_extra or {})["split"]
        assert (split["part"], split["seed"], split["held_out"]) == (part, 5, 0.3)
        assert split["parent"]["dataset_id"] == "hpo-en-tiny"
        assert len(split["parent"]["sha256"]) == 64


@given(seed=st.integers(0, 1000))
def test_near_duplicates_stay_together(seed):
    from trectools_plus.testsets.model import RelevantTerm, TestQuery, TestSet, TestSetMetadata

    pairs = ["broad thumb", "short neck", "tall stature", "wide mouth", "red eye", "dry skin"]
    texts = [*pairs, *(" ".join(reversed(text.split())) for text in pairs), "fever", "rash"]
    queries = tuple(
        TestQuery(query_id=str(at), text=text, relevant=(RelevantTerm(doc_id="d", grade=1),))
        for at, text in enumerate(texts)
    )
    test_set = TestSet(metadata=TestSetMetadata(dataset_id="x", language="en"), queries=queries)
    split = split_test_set(test_set, 0.3, seed)
    held = {query.query_id for query in split.held_out.queries}
    assert len(held) == 4
    for at in range(len(pairs)):
        assert (str(at) in held) == (str(at + len(pairs)) in held)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 20])
def test_shares_out_of_range_are_refused(share):
    with pytest.raises(UsageError, match=r"0.*1"):
        split_test_set(load_test_set("hpo-en-tiny"), share)


def test_a_part_without_anything_to_find_is_refused(maker):
    with pytest.raises(FormatError):
        split_test_set(maker.make({"1": "alpha"}), 0.5)
    with pytest.raises(FormatError):
        split_test_set(maker.make({"1": "fever", "2": "Fever"}), 0.5)
