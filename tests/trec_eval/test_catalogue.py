"""The table of measures against trec_eval itself, and against what is written about it."""

from __future__ import annotations

import pytrec_eval_ext

from trectools_plus.measures.definitions.trec_eval_measures import (
    measures_of,
    sets_of,
)
from trectools_plus.trec_eval.arguments import parse_arguments


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
