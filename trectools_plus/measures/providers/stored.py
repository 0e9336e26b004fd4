"""Measures of a report that are not computed again: their values are those of the report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from trectools_plus.measures.definitions.base import (
    AVERAGED_OVER,
    TIES,
    Definition,
    FloatArray,
    Measure,
)

if TYPE_CHECKING:
    from trectools_plus.measures.judged import JudgedRun


_CLASS = re.compile(r"[\w.<>]+:[\w.<>]+")


def is_of_user(definition: Definition) -> bool:
    """Return whether a class of a user computes the measure."""
    return _CLASS.fullmatch(definition.provider) is not None


def without_words(definition: Definition) -> Definition:
    """Return a definition without the words of a user's class, which nobody can verify."""
    if not is_of_user(definition):
        return definition
    return replace(
        definition,
        formula=f"see {definition.provider}",
        gain="its own",
        denominator="its own",
        ties=TIES,
        averaged_over=AVERAGED_OVER,
        trec_eval_call=None,
    )


class StoredProvider:
    """Computes nothing: every value is undefined until that of the report takes its place."""

    sees_documents = False

    def score(self, measures: Sequence[StoredMeasure], run: JudgedRun) -> list[FloatArray]:
        """Return undefined values."""
        import numpy as np

        return [np.full(len(run.retrieved), np.nan) for _ in measures]


class StoredMeasure(Measure):
    """A measure whose code belongs to the writer of a report, or that reads files of the writer.

    Args:
        definition: Its definition in the report.
    """

    provider = StoredProvider()
    sees_unjudged = True

    def __init__(self, definition: Definition) -> None:
        self._stored = definition
        self.alias = definition.alias
        self.cutoff = definition.cutoff
        self.relevance_level = definition.relevance_level
        self.higher_is_better = definition.higher_is_better
        self.aggregate = definition.aggregate

    @property
    def name(self) -> str:
        """The name in the report."""
        return self._stored.name

    @property
    def definition(self) -> Definition:
        """The definition in the report."""
        return self._stored
