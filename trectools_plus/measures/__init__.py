"""Measure names, exact definitions, and scoring on one canonical ranking."""

from trectools_plus.measures.base import BaseMeasure, Definition, Measure
from trectools_plus.measures.evaluation import Counts, Evaluation
from trectools_plus.measures.evaluator import DEFAULT_MEASURES, evaluate
from trectools_plus.measures.names import explain, parse_measure, parse_measures

__all__ = [
    "DEFAULT_MEASURES",
    "BaseMeasure",
    "Counts",
    "Definition",
    "Evaluation",
    "Measure",
    "evaluate",
    "explain",
    "parse_measure",
    "parse_measures",
]
