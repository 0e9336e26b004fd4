"""The table of measures against trec_eval itself, and against what is written about it."""

from __future__ import annotations

from pathlib import Path

import pytrec_eval_ext

from trectools_plus.measures.definitions.trec_eval_measures import (
    TREC_EVAL_MEASURES,
    measures_of,
    sets_of,
)
from trectools_plus.trec_eval.arguments import parse_arguments
from trectools_plus.trec_eval.builtin import SCORERS

TESTS = "\n".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))


def answer(measures):
    evaluator = pytrec_eval_ext.RelevanceEvaluator({"1": {"a": 1}}, measures, 1, False)
    return evaluator.evaluate({"1": {"a": 1.0}})["1"]


def test_order_and_default_parameters_are_those_of_trec_eval_9():
    arguments = parse_arguments(["-m", "all_trec", "-m", "yaap", "q", "r"])
    names = [name for one in arguments.requested for name in one.names]
    of_qrels = {name for name, one in measures_of(9).items() if one.needs in ("any", "qrels")}
    assert names == [*answer(of_qrels)]


def test_sets_are_those_of_trec_eval_9():
    ours = {name: {*members} for name, members in sets_of(9).items()}
    assert ours == {**pytrec_eval_ext.supported_nicknames}


def test_every_measure_is_computed_and_compared():
    # test_differential.py takes the measures of version 9 from the table, but for two texts.
    for name in {one.name for one in TREC_EVAL_MEASURES} - {*measures_of(9)} | {
        "runid",
        "relstring",
    }:
        assert f"-m{name}" in TESTS or f'"{name}"' in TESTS
    assert {*SCORERS} - {*measures_of(9)} == {*measures_of(10)} - {*measures_of(9)}
