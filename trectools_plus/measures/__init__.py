"""Measure names, exact definitions, and scoring on one canonical ranking.

Names are imported when they are first used: the table of trec_eval's measures needs no Polars.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trectools_plus.measures.definitions.base import Definition as Definition
    from trectools_plus.measures.definitions.base import Measure as Measure
    from trectools_plus.measures.evaluation import DEFAULT_MEASURES as DEFAULT_MEASURES
    from trectools_plus.measures.evaluation import Counts as Counts
    from trectools_plus.measures.evaluation import Evaluation as Evaluation
    from trectools_plus.measures.evaluation import evaluate as evaluate
    from trectools_plus.measures.parser import explain as explain
    from trectools_plus.measures.parser import parse_measure as parse_measure
    from trectools_plus.measures.parser import parse_measures as parse_measures
    from trectools_plus.measures.providers.user import BaseMeasure as BaseMeasure

_HOMES = {
    "DEFAULT_MEASURES": "evaluation",
    "BaseMeasure": "providers.user",
    "Counts": "evaluation",
    "Definition": "definitions.base",
    "Evaluation": "evaluation",
    "Measure": "definitions.base",
    "evaluate": "evaluation",
    "explain": "parser",
    "parse_measure": "parser",
    "parse_measures": "parser",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found
