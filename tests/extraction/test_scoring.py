"""Counts and figures against scikit-learn, and against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.preprocessing import MultiLabelBinarizer

from trectools_plus.extraction.inputs import AnnotatedDocument, Prediction
from trectools_plus.extraction.scoring import (
    FIGURES,
    VIEWS,
    averages_of,
    count,
    exact_credit,
    figures_of,
    find_mistakes,
    items_of,
    scores_of,
    soft_credit,
)
from trectools_plus.extraction.words import ASSERTIONS
from trectools_plus.statistics.arrays import Resampling

TERMS = [f"X:{number}" for number in range(10)] + ["Y:1"]
SAID = st.dictionaries(st.sampled_from(TERMS), st.sampled_from(ASSERTIONS), max_size=6)
CASES = st.lists(st.tuples(SAID, SAID), min_size=1, max_size=6)
SKLEARN = (precision_score, recall_score, f1_score)


def tables(cases, view, credit=exact_credit):
    documents = [AnnotatedDocument(f"d{n}", "", gold) for n, (gold, _) in enumerate(cases)]
    predictions = {
        f"d{n}": [Prediction(term, one, 1.0) for term, one in said.items()]
        for n, (_, said) in enumerate(cases)
    }
    return count(documents, predictions, view, credit)


@given(cases=CASES, view=st.sampled_from(VIEWS))
def test_figures_are_those_of_scikit_learn(cases, view):
    sides = [
        ["/".join(item) for item in items_of(case[side], view)] for case in cases for side in (0, 1)
    ]
    encoder = MultiLabelBinarizer().fit([*sides, ["never", "neither"]])
    gold, predicted = (encoder.transform(sides[start::2]) for start in (0, 1))
    table = tables(cases, view)
    micro, macro, weighted = averages_of(table)[0]
    empty = np.array([not sides[2 * n] and not sides[2 * n + 1] for n in range(len(cases))])
    for place, function in enumerate(SKLEARN):
        # Where neither side has a term we say 1, and scikit-learn what it is told.
        both = float(empty.all())
        assert micro[place] == pytest.approx(
            both or function(gold, predicted, average="micro", zero_division=0.0)
        )
        samples = function(gold, predicted, average="samples", zero_division=0.0)
        assert macro[place] == pytest.approx(samples + empty.mean())
        own = figures_of(table)[:, place]
        if table[:, 3].sum():
            assert weighted[place] == pytest.approx(np.average(own, weights=table[:, 3]))
        else:
            assert weighted[place] == micro[place]


@given(cases=CASES, view=st.sampled_from(VIEWS))
def test_soft_credit_is_the_best_similarity_of_each_term(ontology, cases, view):
    table = tables(cases, view, soft_credit(ontology))
    for row, (gold, said) in zip(table, cases, strict=True):
        items, others = items_of(said, view), items_of(gold, view)
        for column, one, other in ((0, items, others), (2, others, items)):
            expected = sum(
                max((_alike(ontology, a, b) for b, said_b in other if said_b == said_a), default=0)
                for a, said_a in one
            )
            assert row[column] == pytest.approx(expected)


def _alike(ontology, a, b):
    return float(a == b) if "Y:1" in (a, b) else ontology.similarity(a, b)


@given(cases=CASES, view=st.sampled_from(VIEWS))
def test_soft_never_scores_below_exact_nor_above_one(ontology, cases, view):
    exact = averages_of(tables(cases, view))
    soft = averages_of(tables(cases, view, soft_credit(ontology)))
    assert (soft >= exact - 1e-12).all()
    assert (soft <= 1 + 1e-12).all()


def test_views():
    said = {"a": "affirmed", "b": "uncertain", "c": "negated", "d": "other_person"}
    assert items_of(said, "present") == {("a", ""), ("b", "")}
    assert len(items_of(said, "any")) == 4
    assert ("c", "negated") in items_of(said, "strict")


def ends_of_all(rows, resampling):
    """Return the lower and the upper ends, by average and figure."""
    found = scores_of(rows, resampling).values()
    cis = [[getattr(score, figure).ci for figure in FIGURES] for score in found]
    return [[[getattr(ci, end) for ci in row] for row in cis] for end in ("low", "high")]


def test_intervals_are_scipys_over_documents():
    """The sampling errors of 20,000 resamples are smaller than the tolerance."""
    rows = np.random.default_rng(3).integers(1, 9, (30, 4)).astype(float)
    rows[:, [0, 2]] = np.minimum(rows[:, [0, 2]], rows[:, [1, 3]])
    low, high = ends_of_all(rows, Resampling(20_000, 7))

    def figures(drawn, axis):
        table = rows[drawn]
        assert axis == -1
        sums = table.sum(axis=-2)
        weights = table[..., 3:]
        weighted = (figures_of(table) * weights).sum(axis=-2) / weights.sum(axis=-2)
        return np.moveaxis(np.concatenate([figures_of(sums), weighted], axis=-1), -1, 0)

    expected = bootstrap(
        (np.arange(len(rows)),),
        figures,
        n_resamples=20_000,
        method="BCa",
        vectorized=True,
        rng=1,
    ).confidence_interval
    for own, other in ((low, expected.low), (high, expected.high)):
        np.testing.assert_allclose([*own[0], *own[2]], other, atol=0.006)


def test_macro_interval_is_the_bootstrap_of_the_documents_means():
    from trectools_plus.statistics.intervals import mean_intervals

    rows = np.array([[1, 4, 1, 2], [2, 2, 2, 5], [0, 3, 0, 1], [3, 4, 3, 3]], dtype=float)
    low, high = ends_of_all(rows, Resampling(3000, 5))
    expected = mean_intervals(figures_of(rows), resamples=3000, seed=5)
    np.testing.assert_allclose(low[1], expected.low)
    np.testing.assert_allclose(high[1], expected.high)


@given(cases=CASES)
def test_mistakes_are_the_terms_of_one_side(ontology, cases):
    documents = [AnnotatedDocument(f"d{n}", "", gold) for n, (gold, _) in enumerate(cases)]
    predictions = {
        f"d{n}": [Prediction(term, one, 0.5, text=term) for term, one in said.items()]
        for n, (_, said) in enumerate(cases)
    }
    found = find_mistakes(documents, predictions, ontology)
    present = ("affirmed", "uncertain")
    for n, sides in enumerate(cases):
        gold, said = ({term for term, one in side.items() if one in present} for side in sides)
        for mistakes, expected, side in (
            (found.missed, gold - said, sides[0]),
            (found.spurious, said - gold, sides[1]),
        ):
            own = {one.term_id: one for one in mistakes if one.doc_id == f"d{n}"}
            assert list(own) == sorted(expected)
            for term, one in own.items():
                assert one.assertion == side[term]
                assert one.label == (ontology.terms[term].name if term in ontology else "")
                is_spurious = mistakes is found.spurious
                assert (one.score, one.text) == ((0.5, term) if is_spurious else (None, None))
