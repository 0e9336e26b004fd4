"""Queries without a relevant document have the values of C trec_eval and ir_measures."""

import math

import ir_measures
import numpy as np
import pytest

from trectools_plus.choices import Averaging
from trectools_plus.errors import MissingExtraError, UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import evaluate, parse_measure, score_runs
from trectools_plus.measures.parser import measure_labels
from trectools_plus.measures.providers.libraries import ir_measures_labels
from trectools_plus.measures.providers.user import BaseMeasure

QRELS = [
    ("relevant", "1", "a", 1),
    ("relevant", "2", "b", 1),
    ("relevant", "1", "x", 0),
    ("grade 0", "1", "a", 0),
    ("grade 0", "2", "b", 0),
    ("no results", "1", "a", 0),
    ("negative", "1", "a", -1),
    ("negative", "1", "b", -2),
]
"""Query, subtopic, document and grade."""
NEGATIVE = "negative"
RUN = {
    query: {"x": 3.0, "a": 2.0, "b": 1.0, "y": 0.5} for query in ("relevant", "grade 0", NEGATIVE)
}
WITHOUT_RELEVANT = ("grade 0", "no results", NEGATIVE)
OF_THIS_PACKAGE = {
    "HitRate": 0.0,  # equals Success
    "APcap": 0.0,
    "F1": 0.0,
    "RelRet": 0.0,
    "MeanRank": math.nan,
    "MinRank": math.nan,
    "MaxOntSim": 0.0,
    "ERR": 0.0,  # ir_measures runs Perl
    "RBP": 0.0,  # ir_measures needs cwl-eval
}
"""The value of each measure that ir_measures does not have, or that needs more than Python."""


def example_of(label):
    """A name with this label, and the parameters that it needs; skip if a package is missing."""
    for name in (
        f"{label}@10",
        f"{label}@0.1",
        label,
        f"{label}(max_rel=3)@10",
        f"{label}(max_rel=3)",
    ):
        try:
            return parse_measure(name)
        except MissingExtraError as error:
            pytest.skip(str(error))
        except UsageError as error:
            reason = str(error)
    pytest.skip(reason)


def theirs(name):
    """The values of ir_measures; those of queries without results are its default."""
    measure = ir_measures.parse_measure(name)
    # pytrec_eval crashes at a query with negative grades only.
    qrels = [
        ir_measures.Qrel(query, doc, grade, topic)
        for query, topic, doc, grade in QRELS
        if query != NEGATIVE
    ]
    run = {query: scores for query, scores in RUN.items() if query != NEGATIVE}
    found = {one.query_id: one.value for one in ir_measures.iter_calc([measure], qrels, run)}
    return {query: found.get(query, math.nan) for query in ("relevant", *WITHOUT_RELEVANT[:2])}


def values_of(measure):
    import polars as pl

    schema = ("query_id", "iteration", "doc_id", "relevance")
    qrels = Qrels(pl.DataFrame(QRELS, schema=schema, orient="row"))
    evaluation = score_runs(qrels, {"run": Run.from_dict(RUN)}, [measure], Averaging())
    return dict(zip(evaluation.query_ids["run"], evaluation.values("run", measure), strict=True))


@pytest.mark.parametrize("label", sorted({*measure_labels(), *ir_measures_labels()}))
def test_the_value_is_that_of_the_library(label):
    measure = example_of(label)
    if isinstance(measure, BaseMeasure):  # it needs an ontology
        assert measure.value_without_results == OF_THIS_PACKAGE[label]
        return
    found = values_of(measure)
    if label in OF_THIS_PACKAGE:
        expected = dict.fromkeys(WITHOUT_RELEVANT, OF_THIS_PACKAGE[label])
    else:
        expected = theirs(measure.name)
        # No value depends on the grades if none is relevant.
        expected[NEGATIVE] = expected["grade 0"]
    np.testing.assert_equal(found, {**found, **expected})
    if label not in OF_THIS_PACKAGE:
        assert found["relevant"] == pytest.approx(expected["relevant"], nan_ok=True)


def test_a_relevance_level_leaves_queries_out_of_its_measure():
    """As -l 2 of trec_eval, and rel=2 of ir_measures."""
    qrels = {"1": {"a": 2}, "2": {"a": 1}, "3": {"a": 0}}
    run = {query: {"a": 1.0} for query in qrels}
    (theirs,) = ir_measures.calc_aggregate([ir_measures.AP(rel=2)], qrels, run).values()
    assert evaluate(qrels, run, ["AP(rel=2)"])["AP(rel=2)"] == theirs == 1 / 3
    dropped = evaluate(qrels, run, ["AP(rel=2)", "AP"], no_relevant="drop")
    assert [dropped.n(name) for name in dropped.measure_names] == [1, 2]
    assert [dropped.mean(name) for name in dropped.measure_names] == [1.0, 1.0]
