"""A measure: a name, its parameters, its definition in words, and the provider that computes it.

::

    Measure                  name, cutoff, relevance level, direction, definition, provider
    ├── TrecEvalMeasure      computed by pytrec_eval          (providers/pytrec_eval.py)
    ├── IrMeasure            computed by ir_measures          (providers/ir_measures.py)
    ├── ColumnMeasure        built in, on whole columns       (providers/builtin.py)
    └── BaseMeasure          one query at a time: the base class of user measures
                                                              (providers/user.py)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.errors import UsageError
from trectools_plus.measures.judged import MEMBERSHIP_LEVEL, JudgedQueries, RankedRun

MAX_CUTOFF = 2**31 - 1
"""The deepest cutoff that trec_eval can be handed on every platform."""

FloatArray = npt.NDArray[np.float64]

TIES = (
    "scores compared as 32-bit floats; equal scores by document id, descending (bytes), "
    "as trec_eval 9"
)
AVERAGED_OVER = (
    "queries of the qrels with a document of grade 1 or more; a query without results counts 0 "
    "(missing=zero) or is left out (missing=drop)"
)


@dataclass(frozen=True, slots=True)
class Definition:
    """Everything that a figure needs beside it to mean something.

    Attributes:
        name: The canonical name.
        alias: The name as the user wrote it, where that differs.
        formula: The formula, in words and symbols; ``rank`` counts from 1.
        gain: What a document of grade g is worth.
        cutoff: The deepest rank that is looked at; ``None`` is the whole ranking.
        denominator: What the sum is divided by.
        relevance_level: The lowest grade that counts as relevant.
        ties: How equal scores are ordered.
        averaged_over: The queries that enter the mean.
        provider: Who computes it, with its version.
        trec_eval_call: The trec_eval call that prints the same figure for each query (with ``-q``);
            ``None`` if there is none. Its mean also counts queries without a relevant document;
            see ``trec_eval_sums``.
        higher_is_better: Whether a higher value is better; false for costs and ranks.
    """

    name: str
    formula: str
    gain: str
    cutoff: int | None
    denominator: str
    relevance_level: int
    provider: str
    trec_eval_call: str | None = None
    ties: str = TIES
    averaged_over: str = AVERAGED_OVER
    alias: str | None = None
    higher_is_better: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values.

        ``higher_is_better`` is among them only where it is false.
        """
        fields = asdict(self)
        if self.higher_is_better:
            del fields["higher_is_better"]
        return fields

    @property
    def trec_eval_sums(self) -> bool:
        """Whether trec_eval's line for all queries is a sum, not a mean: so it is for counts."""
        return " -m num_" in (self.trec_eval_call or "")


class Provider(Protocol):
    """Computes measures of one kind, and says which it supports."""

    sees_documents: bool
    """Whether its measures look at document ids, so that they need the whole ranking."""

    def labels(self) -> Sequence[str]:
        """Return the labels of the measures that it supports."""

    def construct(self, label: str, parameters: Mapping[str, Any], at: Any) -> Measure | None:
        """Bind a measure's parameters.

        Args:
            label: The name without parameters and cutoff.
            parameters: The values in brackets.
            at: What follows ``@``; ``None`` for nothing.

        Returns:
            The measure; ``None`` where it does not support the label.

        Raises:
            UsageError: If a parameter is unknown or out of range.
        """

    def score(self, measures: Sequence[Any], run: RankedRun) -> list[FloatArray]:
        """Score every query that has results.

        Args:
            measures: Measures of this provider, none twice.
            run: The run.

        Returns:
            One array per measure, one value per query; ``nan`` is undefined. Values of queries
            without results are not used.

        Raises:
            UsageError: If a measure cannot take this input.
        """


class Measure(ABC):
    """A measure with its parameters bound, ready to be computed.

    Attributes:
        cutoff: The deepest rank it looks at; ``None`` is the whole ranking.
        relevance_level: The lowest grade it counts as relevant.
        alias: The name as the user wrote it, where that differs from ``name``.
        value_without_results: Its value for a query for which a run returned nothing.
        sees_unjudged: Whether it says something of a run of which no document is judged.
        higher_is_better: Whether a higher value is better; false for costs and ranks. Best modes,
            gates, marks and plots follow it.
        provider: What computes it.
    """

    provider: ClassVar[Provider]

    cutoff: int | None = None
    relevance_level: int = 1
    alias: str | None = None
    value_without_results: float = 0.0
    sees_unjudged: bool = False
    higher_is_better: bool = True

    @property
    @abstractmethod
    def name(self) -> str:
        """The canonical name, such as ``nDCG@10``: what tables and reports call it."""

    @property
    def depth(self) -> int | None:
        """The deepest rank that it can see; ``None`` for the whole ranking."""
        return self.cutoff

    @property
    @abstractmethod
    def _definition(self) -> Definition: ...

    @property
    def definition(self) -> Definition:
        """The meaning of its figures."""
        return replace(
            self._definition, alias=self.alias, higher_is_better=bool(self.higher_is_better)
        )

    def notes_on_qrels(self, queries: JudgedQueries) -> list[str]:
        """Return what a reader of its figures must know of these qrels, a line each.

        Args:
            queries: The queries that count, and their judgments.

        Raises:
            UsageError: If its figures would say nothing, whatever the run.
        """
        return level_notes(self.relevance_level, queries)

    def notes_on_run(self, run_name: str, ranked: pl.DataFrame) -> list[str]:  # noqa: ARG002
        """Return what a reader of its figures must know of this run, a line each.

        Args:
            run_name: What the run is called.
            ranked: ``query, doc_id, rank, score``: the canonical ranking of the queries that count.

        Raises:
            UsageError: If its figures would say nothing of the run.
        """
        return []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def canonical_name(
    label: str, parameters: Mapping[str, Any], defaults: Mapping[str, Any], cutoff: float | None
) -> str:
    """Spell a measure as ``ir_measures`` does: ``AP(rel=2)@100``."""
    spelled = [f"{key}={value!r}" for key, value in parameters.items() if value != defaults[key]]
    arguments = f"({','.join(spelled)})" if spelled else ""
    return f"{label}{arguments}{'' if cutoff is None else f'@{cutoff}'}"


def refuse_unknown_parameters(label: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse parameters that a measure does not take.

    Raises:
        UsageError: If one is unknown.
    """
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise UsageError(
            f"{label} has no parameter {', '.join(unknown)}",
            remedy=f"it takes: {', '.join(known) or 'none'}",
        )


def checked_cutoff(cutoff: Any, label: str, *, required: bool) -> int | None:
    """Return the cutoff, or refuse one that is missing or not a positive whole number."""
    if cutoff is None and not required:
        return None
    whole = isinstance(cutoff, int) and not isinstance(cutoff, bool)
    if not whole or not 1 <= cutoff <= MAX_CUTOFF:
        seen = "none" if cutoff is None else repr(cutoff)
        raise UsageError(
            f"{label} needs a cutoff from 1 on, got {seen}",
            where=label,
            remedy=f"write it as {label}@10",
        )
    return int(cutoff)


def checked_level(level: Any, label: str) -> int:
    """Return the relevance level, or refuse what is not a whole number from 1 on."""
    if not isinstance(level, int) or isinstance(level, bool) or level < 1:
        raise UsageError(
            f"rel must be a whole number from 1 on, got {level!r}",
            where=label,
            remedy="grade 0 and below is not relevant",
        )
    return level


def provided_by(distribution: str) -> str:
    """Return an installed distribution's name with its version."""
    return f"{distribution} {version(distribution)}"


def level_notes(level: int, queries: JudgedQueries) -> list[str]:
    """Say when no document reaches a relevance level, in the qrels or in some queries.

    Args:
        level: The lowest grade that counts as relevant.
        queries: The queries that count, and their judgments.

    Returns:
        At most one note. Queries without a document of grade 1 are listed elsewhere.
    """
    if level <= MEMBERSHIP_LEVEL:
        return []
    highest = queries.frame.select(pl.col("relevance").max()).item()
    if highest is None:
        return []
    if highest < level:
        return [f"no document of the qrels has grade {level} or more; the highest is {highest}"]
    reached = queries.frame.filter(pl.col("relevance") >= level)["query"].n_unique()
    total = len(queries.query_ids)
    if reached == total:
        return []
    return [f"no document of grade {level} or more for {total - reached} of {total} queries"]
