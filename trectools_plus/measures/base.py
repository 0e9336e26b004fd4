"""What a measure is: a name, its parameters, its definition in words, and a way to score.

::

    Measure                  name, cutoff, relevance level, definition
    ├── TrecEvalMeasure      scored by pytrec_eval          (trec_eval.py)
    ├── IrMeasure            scored by ir_measures          (external.py)
    ├── ColumnMeasure        own, on whole columns at once  (own.py, cascade.py)
    └── BaseMeasure          one query at a time: the base class for measures of your own
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.measures.notes import level_notes

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.measures.judged import JudgedQueries

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


class Measure(ABC):
    """A measure with its parameters bound, ready to be asked for.

    Attributes:
        cutoff: The deepest rank it looks at; ``None`` is the whole ranking.
        relevance_level: The lowest grade it counts as relevant.
        alias: The name as the user wrote it, where that differs from ``name``.
        value_without_results: Its value for a query for which a run returned nothing.
        sees_unjudged: Whether it says something of a run of which no document is judged.
        higher_is_better: Whether a higher value is better; false for costs and ranks. Best modes,
            gates, marks and plots follow it.
    """

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
    @abstractmethod
    def _definition(self) -> Definition: ...

    @property
    def definition(self) -> Definition:
        """What its figures mean."""
        return replace(
            self._definition, alias=self.alias, higher_is_better=bool(self.higher_is_better)
        )

    def notes_on_qrels(self, queries: JudgedQueries) -> list[str]:
        """What a reader of its figures must know of these qrels, in a line each.

        Args:
            queries: The queries that count, and their judgments.

        Raises:
            UsageError: If its figures would say nothing, whatever the run.
        """
        return level_notes(self.relevance_level, queries)

    def notes_on_run(self, run_name: str, ranked: pl.DataFrame) -> list[str]:  # noqa: ARG002
        """What a reader of its figures must know of this run, in a line each.

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


class BaseMeasure(Measure):
    """A measure that scores one query at a time; subclass it to add a measure of your own.

    ::

        class FirstIsBest(BaseMeasure):
            \"\"\"1 when the first document carries the query's highest grade.\"\"\"

            def score_query(self, ranked_doc_ids, qrels_of_query):
                best = max(qrels_of_query.values())
                return float(qrels_of_query.get(ranked_doc_ids[0], 0) == best)

    Name it ``package.module:FirstIsBest`` (parameters and cutoff as in ``…:Class(weight=2)@10``),
    or register the class as an entry point of the group ``trectools_plus.measures``.

    Args:
        cutoff: The deepest rank it looks at, at least 1; the ranking it is given is cut there.
        parameters: Values for the names in ``parameter_defaults``. A parameter ``rel`` is the
            relevance level.

    Raises:
        UsageError: If a parameter is unknown, or the cutoff missing or not positive.
    """

    label: ClassVar[str] = ""
    """The name without parameters; the class's own name when empty."""
    parameter_defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Each parameter it takes, with its default."""
    requires_cutoff: ClassVar[bool] = False
    """Whether the name must end in ``@k``."""

    def __init__(self, cutoff: int | None = None, **parameters: Any) -> None:
        self.cutoff = checked_cutoff(cutoff, self._label(), required=self.requires_cutoff)
        unknown = parameters.keys() - self.parameter_defaults.keys()
        if unknown:
            raise UsageError(
                f"{self._label()} has no parameter {', '.join(sorted(unknown))}",
                remedy=f"it takes: {', '.join(self.parameter_defaults) or 'none'}",
            )
        self.parameters: Mapping[str, Any] = {**self.parameter_defaults, **parameters}
        self.relevance_level = checked_level(self.parameters.get("rel", 1), self._label())

    @classmethod
    def _label(cls) -> str:
        return cls.label or cls.__name__

    @property
    def name(self) -> str:
        """``Label(parameter=value)@cutoff``; parameters at their default are left out."""
        return canonical_name(self._label(), self.parameters, self.parameter_defaults, self.cutoff)

    @abstractmethod
    def score_query(
        self, ranked_doc_ids: Sequence[str], qrels_of_query: Mapping[str, int]
    ) -> float:
        """Score one query.

        Args:
            ranked_doc_ids: The documents in canonical order, best first, cut at ``cutoff``; never
                empty (a query without results gets ``value_without_results``).
            qrels_of_query: Every judged document's grade; at least one is 1 or more.

        Returns:
            The value; ``nan`` where the measure is undefined for this query. Undefined values are
            left out of means and counted.
        """

    def score_queries(
        self, rankings: Sequence[Sequence[str]], qrels: Sequence[Mapping[str, int]]
    ) -> FloatArray:
        """Score many queries; override it where all at once is faster than one by one.

        Args:
            rankings: As ``ranked_doc_ids``, one per query.
            qrels: As ``qrels_of_query``, aligned with ``rankings``.

        Returns:
            One value per query, in the same order.
        """
        pairs = zip(rankings, qrels, strict=True)
        return np.fromiter((self.score_query(r, q) for r, q in pairs), float, len(rankings))

    @property
    def _definition(self) -> Definition:
        text = (type(self).__doc__ or "").strip().partition("\n\n")[0]
        return Definition(
            name=self.name,
            formula=" ".join(text.split()) or f"as {type(self).__module__}:{self._label()} says",
            gain="its own",
            cutoff=self.cutoff,
            denominator="its own",
            relevance_level=self.relevance_level,
            provider=f"{type(self).__module__}:{type(self).__qualname__}",
        )


def canonical_name(
    label: str, parameters: Mapping[str, Any], defaults: Mapping[str, Any], cutoff: float | None
) -> str:
    """Spell a measure as ``ir_measures`` does: ``AP(rel=2)@100``."""
    spelled = [f"{key}={value!r}" for key, value in parameters.items() if value != defaults[key]]
    arguments = f"({','.join(spelled)})" if spelled else ""
    return f"{label}{arguments}{'' if cutoff is None else f'@{cutoff}'}"


def checked_cutoff(cutoff: Any, label: str, *, required: bool) -> int | None:
    """The cutoff, or a :class:`UsageError` when it is missing or not a positive whole number."""
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
    """The relevance level, or a :class:`UsageError` when it is no whole number from 1 on."""
    if not isinstance(level, int) or isinstance(level, bool) or level < 1:
        raise UsageError(
            f"rel must be a whole number from 1 on, got {level!r}",
            where=label,
            remedy="grade 0 and below is not relevant",
        )
    return level


def own_provider() -> str:
    """Who computes a measure of this package's own."""
    return provided_by("trectools-plus")


def provided_by(distribution: str) -> str:
    """An installed distribution's name with its version."""
    return f"{distribution} {version(distribution)}"
