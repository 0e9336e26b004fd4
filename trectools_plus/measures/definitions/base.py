"""Base classes: a measure has a name, parameters, a definition in words, and values for a run.

::

    Measure                  name, cutoff, relevance level, direction, definition
    ├── ColumnMeasure        computed from grades and ranks, for all queries at once
    │   └── TrecEvalMeasure  computed by pytrec_eval            (providers/libraries.py)
    ├── IrMeasure            computed by ir_measures            (providers/libraries.py)
    └── BaseMeasure          computed query by query; the base of user measures (providers/user.py)
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from trectools_plus.choices import RELEVANT
from trectools_plus.display import Displayed
from trectools_plus.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

    from trectools_plus.measures.judged import IntArray, JudgedQueries, JudgedRun

FloatArray: TypeAlias = "npt.NDArray[np.float64]"
"""A text at run time, so that this module needs no NumPy."""

MAX_CUTOFF = 2**31 - 1
"""The deepest cutoff that trec_eval accepts on every platform."""

NO_PARAMETERS = MappingProxyType[str, Any]({})
BINARY_GAIN = "1 for a grade of {level} or more, else 0"
TIES = (
    "scores compared as 32-bit floats; equal scores by document id, descending (bytes), "
    "as trec_eval 9"
)
AVERAGED_OVER = (
    "queries of the qrels; missing=drop leaves out those without results, no_relevant=drop those "
    "without a document of grade 1 or more; otherwise a query without results counts 0"
)


@dataclass(frozen=True, slots=True, repr=False)
class Definition(Displayed):
    """The exact meaning of a measure's figures.

    Attributes:
        name: The canonical name, which is the same for all spellings.
        alias: The name as the user wrote it; ``None`` if it is the canonical name.
        formula: The formula, in words and symbols; ``rank`` counts from 1.
        gain: The contribution of a retrieved document, depending on its grade.
        cutoff: The deepest rank that counts; ``None`` for the whole ranking.
        denominator: The divisor of the sum.
        relevance_level: The lowest grade that counts as relevant.
        ties: The order of documents with equal scores.
        averaged_over: The queries that the mean is taken over.
        provider: The library that computes it, with its version.
        trec_eval_call: The trec_eval call that prints the same figure for each query (with ``-q``);
            ``None`` if there is no such call.
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

    def _text(self) -> str:
        """The name and the formula."""
        return f"{self.name}: {self.formula}"

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values, without ``higher_is_better`` if it is true."""
        fields = asdict(self)
        if self.higher_is_better:
            del fields["higher_is_better"]
        return fields


class Measure(ABC):
    """A measure with values for all its parameters.

    Args:
        cutoff: The deepest rank that counts, at least 1; ``None`` for the whole ranking.
        parameters: Values for names in ``parameter_defaults``. A parameter ``rel`` is the lowest
            grade that counts as relevant, at least 1.

    Attributes:
        label: The name without parameters; the name of the class if empty.
        parameter_defaults: Each parameter with its default.
        parameters: Each parameter with its value.
        requires_cutoff: Whether the name must end in ``@k``.
        cutoff: The deepest rank that counts; ``None`` for the whole ranking.
        relevance_level: The lowest grade that counts as relevant.
        alias: The name as the user wrote it; ``None`` if it is ``name``.
        value_without_results: The value for a query for which a run returned nothing. For a measure
            that is computed query by query, also that of a query without a relevant document.
        sees_documents: Whether it depends on document ids, and therefore needs the whole ranking.
        sees_unjudged: Whether it can score a run without judged documents.
        higher_is_better: Whether a higher value is better; false for costs and ranks. It
            determines best modes, gates, marks and plots.

    Raises:
        UsageError: If a parameter is unknown, or the cutoff or ``rel`` is missing or out of range.
    """

    label: str = ""
    parameter_defaults: Mapping[str, Any] = NO_PARAMETERS
    parameters: Mapping[str, Any] = NO_PARAMETERS
    requires_cutoff: bool = False
    cutoff: int | None = None
    relevance_level: int = 1
    alias: str | None = None
    value_without_results: float = 0.0
    sees_documents: ClassVar[bool] = False
    sees_unjudged: bool = False
    higher_is_better: bool = True

    def __init__(self, cutoff: int | None = None, **parameters: Any) -> None:
        label, defaults = self.label or type(self).__name__, self.parameter_defaults
        self.parameters = {**defaults, **known_parameters(label, parameters, defaults)}
        if not is_whole(cutoff, 1) and (cutoff is not None or self.requires_cutoff):
            raise UsageError(
                f"{label} needs a cutoff from 1 to {MAX_CUTOFF:,} but got {cutoff!r}",
                where=label,
                remedy=f"write it as {label}@10",
            )
        self.cutoff = cutoff
        level = self.parameters.get("rel", 1)
        if level is None and defaults["rel"] is None:
            return
        if not is_whole(level, 1):
            raise UsageError(
                f"rel must be a whole number of at least 1 but got {level!r}",
                where=label,
                remedy="use rel=1 or more; documents of grade 0 or less are never relevant",
            )
        self.relevance_level = level

    @property
    def name(self) -> str:
        """``Label(parameter=value)@cutoff`` as in ``ir_measures``, for example ``AP(rel=2)@100``.

        Parameters with their default value are left out.
        """
        defaults = self.parameter_defaults
        spelled = [f"{k}={value!r}" for k, value in self.parameters.items() if value != defaults[k]]
        arguments = f"({','.join(spelled)})" if spelled else ""
        at = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.label or type(self).__name__}{arguments}{at}"

    @property
    def requested_name(self) -> str:
        """The name that labels its figures: as requested, for example ``MAP@100``.

        For a class ``module:Class``, it is the name of the class.
        """
        is_class = self.alias is not None and ":" in self.alias.partition("(")[0]
        return self.name if self.alias is None or is_class else self.alias

    def at_level(self, level: int) -> Self:
        """Return the measure with a relevance level, unless it has none or its name states one."""
        if self.parameters.get("rel") != 1 or "rel=" in self.requested_name.replace(" ", ""):
            return self
        raised = copy.copy(self)
        raised.parameters = {**self.parameters, "rel": level}
        raised.relevance_level = level
        raised.alias = self.alias if level == 1 else None
        return raised

    @classmethod
    @abstractmethod
    def score_together(cls, measures: Sequence[Any], run: JudgedRun) -> list[FloatArray]:
        """Score every query that has results.

        Args:
            measures: Measures of this class, each once.
            run: The run.

        Returns:
            An array per measure with one value per query; ``nan`` if undefined. The caller ignores
            values of queries without results.

        Raises:
            UsageError: If a measure cannot score this input.
        """

    @property
    @abstractmethod
    def definition(self) -> Definition:
        """The exact meaning of its figures."""

    def _define(self, formula: str, gain: str, denominator: str, **further: Any) -> Definition:
        """Return a definition with the measure's name, cutoff and relevance level.

        Args:
            formula: See :class:`Definition`.
            gain: The same.
            denominator: The same.
            further: Other fields; the default of ``provider`` is this package.
        """
        return Definition(
            name=self.name,
            formula=formula,
            gain=gain,
            cutoff=self.cutoff,
            denominator=denominator,
            relevance_level=self.relevance_level,
            alias=self.alias,
            higher_is_better=bool(self.higher_is_better),
            **{"provider": provided_by("trectools-plus"), **further},
        )

    def notes_on_qrels(self, queries: JudgedQueries) -> list[str]:
        """Return notes on the qrels for readers of the figures, one line each.

        By default, a note says how many queries have no document of the relevance level.

        Args:
            queries: The scored queries.

        Raises:
            UsageError: If the figures would be meaningless for any run.
        """
        level = self.relevance_level
        lacking = sum(RELEVANT <= highest < level for highest in queries.highest)
        total = len(queries.query_ids)
        note = f"no document of grade {level} or more for {lacking} of {total} queries"
        return [note] if lacking else []

    def notes_on_run(self, run_name: str, ranked: pl.DataFrame) -> list[str]:  # noqa: ARG002
        """Return notes on a run for readers of the figures, one line each.

        Args:
            run_name: The name of the run.
            ranked: ``query, doc_id, rank, score``: the canonical ranking of the scored queries.

        Raises:
            UsageError: If the figures would be meaningless for this run.
        """
        return []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class ColumnMeasure(Measure):
    """A measure of grades and ranks, computed for all queries at once.

    Attributes:
        formula: See :class:`Definition`; ``{k}``, ``{at}``, ``{first}``, ``{level}`` and the
            parameters in braces are replaced.
        gain: The same.
        denominator: The same.
        averaged_over: The same, without names in braces.
    """

    parameter_defaults: Mapping[str, Any] = MappingProxyType({"rel": 1})
    formula: str
    gain: str = BINARY_GAIN
    denominator: str = "none"
    averaged_over: str = AVERAGED_OVER

    @abstractmethod
    def score(self, run: JudgedRun) -> FloatArray:
        """Return one value per query; ``nan`` where it is undefined."""

    @classmethod
    def score_together(cls, measures: Sequence[Any], run: JudgedRun) -> list[FloatArray]:
        """Score every query; see :meth:`Measure.score_together`."""
        return [measure.score(run) for measure in measures]

    @property
    def definition(self) -> Definition:
        """The exact meaning of its figures."""
        k = self.cutoff
        words = {
            "k": "the number retrieved" if k is None else k,
            "at": "" if k is None else f"@{k}",
            "first": "in the ranking" if k is None else f"in the first {k}",
            "level": self.relevance_level,
            **self.parameters,
        }
        texts = (self.formula, self.gain, self.denominator)
        filled = (text.format(**words) for text in texts)
        return self._define(*filled, averaged_over=self.averaged_over)

    def _hits(self, run: JudgedRun) -> npt.NDArray[np.bool_]:
        """Return a mask of judged documents that are relevant and in the first k."""
        return run.within(self.cutoff) & (run.grade >= self.relevance_level)

    def _count_relevant(self, run: JudgedRun) -> IntArray:
        """Return the number of relevant documents of each query."""
        return run.count(run.grade >= self.relevance_level)


def known_parameters(
    label: str, parameters: Mapping[str, Any], known: Iterable[str]
) -> dict[str, Any]:
    """Return parameters with the names as a measure writes them.

    Raises:
        UsageError: If a parameter is unknown.
    """
    canonical = {name.casefold(): name for name in known}
    unknown = sorted(name for name in parameters if name.casefold() not in canonical)
    if unknown:
        supported = f"supported: {', '.join(canonical.values()) or 'none'}"
        raise UsageError(
            f"{label} has no parameter {', '.join(unknown)}",
            remedy=supported + _REMOVED.get(unknown[0].casefold(), ""),
        )
    return {canonical[name.casefold()]: value for name, value in parameters.items()}


_REMOVED = {
    "judged_only": "; `trectools-plus trec-eval -J` leaves out unjudged documents",
    "gains": "; `trectools-plus trec-eval -m ndcg.1=3,2=9` has a gain for each grade",
    "beta": "; `trectools-plus trec-eval -m set_F.2` has a weight",
    "relative": "; `trectools-plus trec-eval -m set_relative_P` computes it",
}


def is_whole(value: Any, least: int) -> bool:
    """Return whether a value is a whole number of at least ``least``, and not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= MAX_CUTOFF


@cache  # reading the metadata of a package takes half a millisecond
def provided_by(distribution: str) -> str:
    """Return an installed distribution's name with its version."""
    from importlib.metadata import version

    return f"{distribution} {version(distribution)}"
