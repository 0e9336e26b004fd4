"""Base classes: a measure has a name, parameters, a definition in words, and a provider.

::

    Measure                  name, cutoff, relevance level, direction, definition, provider
    ├── TrecEvalMeasure      computed by pytrec_eval            (providers/standard.py)
    ├── IrMeasure            computed by ir_measures            (providers/ir_measures.py)
    └── DeclaredMeasure      a class with a label and parameters
        ├── ColumnMeasure    built in, computed for all queries (providers/builtin.py)
        └── BaseMeasure      computed query by query; the base of user measures (providers/user.py)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias

from trectools_plus.display import Displayed
from trectools_plus.errors import UsageError
from trectools_plus.measures.queries import RELEVANT

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

    from trectools_plus.measures.judged import JudgedQueries, JudgedRun

FloatArray: TypeAlias = "npt.NDArray[np.float64]"
"""A text at run time, so that this module needs no NumPy."""
Aggregate = Literal["mean", "sum"]


MAX_CUTOFF = 2**31 - 1
"""The deepest cutoff that trec_eval accepts on every platform."""

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
            ``None`` if there is no such call. See ``trec_eval_sums``.
        higher_is_better: Whether a higher value is better; false for costs and ranks.
        see_also: Another measure that some tools call by the same name; ``None`` if there is none.
        aggregate: The figure over all queries: the ``mean`` of their values, or the ``sum``.
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
    see_also: str | None = None
    aggregate: Aggregate = "mean"

    def _text(self) -> str:
        """The name and the formula."""
        return f"{self.name}: {self.formula}"

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values.

        ``higher_is_better`` is left out if it is true, ``aggregate`` if it is the mean, and
        ``see_also`` always, because reports do not need it.
        """
        left_out = {"see_also", *(["aggregate"] if self.aggregate == "mean" else [])}
        if self.higher_is_better:
            left_out.add("higher_is_better")
        return {name: value for name, value in asdict(self).items() if name not in left_out}

    @property
    def trec_eval_sums(self) -> bool:
        """True if trec_eval prints the sum over queries, not the mean, as for all counts."""
        return " -m num_" in (self.trec_eval_call or "")


class Scorer(Protocol):
    """A library or module that computes measures."""

    sees_documents: bool
    """Whether its measures depend on document ids, and therefore need the whole ranking."""

    def score(self, measures: Sequence[Any], run: JudgedRun) -> list[FloatArray]:
        """Score every query that has results.

        Args:
            measures: Measures of this provider, each once.
            run: The run.

        Returns:
            An array per measure with one value per query; ``nan`` if undefined. The caller ignores
            values of queries without results.

        Raises:
            UsageError: If a measure cannot score this input.
        """


class Provider(Scorer, Protocol):
    """A scorer that declares the labels of its measures."""

    def labels(self) -> Iterable[str]:
        """Return the labels of the measures that it supports."""

    def construct(self, label: str, parameters: Mapping[str, Any], at: Any) -> Measure:
        """Construct a measure with its parameters.

        Args:
            label: One of its labels.
            parameters: The values in brackets.
            at: The value after ``@``; ``None`` without one.

        Raises:
            UsageError: If a parameter is unknown or out of range.
        """


class Measure(ABC):
    """A measure with values for all its parameters.

    Attributes:
        cutoff: The deepest rank that counts; ``None`` for the whole ranking.
        relevance_level: The lowest grade that counts as relevant.
        alias: The name as the user wrote it; ``None`` if it is ``name``.
        further_aliases: Other names that the user wrote for the same measure.
        value_without_results: The value for a query for which a run returned nothing. For a measure
            that is computed query by query, also that of a query without a relevant document.
        sees_unjudged: Whether it can score a run without judged documents.
        higher_is_better: Whether a higher value is better; false for costs and ranks. It
            determines best modes, gates, marks and plots.
        aggregate: The figure over all queries: the ``mean`` of their values, or their ``sum``,
            which has no interval and is not compared.
        provider: The library or module that computes it.
    """

    provider: ClassVar[Scorer]

    cutoff: int | None = None
    relevance_level: int = 1
    alias: str | None = None
    further_aliases: tuple[str, ...] = ()
    value_without_results: float = 0.0
    sees_unjudged: bool = False
    higher_is_better: bool = True
    aggregate: Aggregate = "mean"

    @property
    @abstractmethod
    def name(self) -> str:
        """The canonical name, for example ``nDCG@10``, as in tables and reports."""

    @property
    def requested_name(self) -> str:
        """The name that labels its figures: as requested, for example ``MAP@100``.

        For a class ``module:Class``, it is the name of the class.
        """
        is_class = self.alias is not None and ":" in self.alias.partition("(")[0]
        return self.name if self.alias is None or is_class else self.alias

    @property
    def depth(self) -> int | None:
        """The deepest rank that can change its value; ``None`` for the whole ranking."""
        return self.cutoff

    def at_level(self, level: int) -> Measure:  # noqa: ARG002
        """Return the measure with a relevance level, unless it has none or its name states one."""
        return self

    def _takes_level(self) -> bool:
        """Return whether the relevance level is 1 because the name does not state one."""
        parameters: Mapping[str, Any] = getattr(self, "parameters", {})
        return parameters.get("rel") == 1 and "rel=" not in self.requested_name.replace(" ", "")

    @property
    @abstractmethod
    def definition(self) -> Definition:
        """The exact meaning of its figures."""

    def _define(
        self, formula: str, gain: str, denominator: str, words: Mapping[str, Any], **further: Any
    ) -> Definition:
        """Return a definition with the measure's name, cutoff and relevance level.

        Args:
            formula: See :class:`Definition`; names in braces are replaced.
            gain: The same.
            denominator: The same.
            words: The replacements, besides ``{k}``, ``{at}``, ``{first}`` and ``{level}``.
            further: Other fields; the default of ``provider`` is this package.
        """
        k = self.cutoff
        all_words = {
            "k": "the number retrieved" if k is None else k,
            "at": "" if k is None else f"@{k}",
            "first": "in the ranking" if k is None else f"in the first {k}",
            "level": self.relevance_level,
            **words,
        }
        fields = {"provider": provided_by("trectools-plus"), **further}
        return Definition(
            name=self.name,
            formula=formula.format(**all_words),
            gain=gain.format(**all_words),
            cutoff=k,
            denominator=denominator.format(**all_words),
            relevance_level=self.relevance_level,
            alias=self.alias,
            higher_is_better=bool(self.higher_is_better),
            aggregate=self.aggregate,
            **{
                name: text.format(**all_words) if isinstance(text, str) else text
                for name, text in fields.items()
            },
        )

    def values_without_results(
        self,
        query: npt.NDArray[np.integer],  # noqa: ARG002
        grade: npt.NDArray[np.integer],  # noqa: ARG002
        n_queries: int,
    ) -> FloatArray:
        """Return each query's value if the run returned nothing for it.

        Args:
            query: The query of each judgment, as a position.
            grade: The grade of each judgment.
            n_queries: The number of queries.
        """
        import numpy as np

        return np.full(n_queries, self.value_without_results)

    @property
    def notes_on_names(self) -> list[str]:
        """Notes on the names for readers of the figures, one line each."""
        return [f"{name} is the same measure; it is listed once" for name in self.further_aliases]

    def notes_on_qrels(self, queries: JudgedQueries) -> list[str]:
        """Return notes on the qrels for readers of the figures, one line each.

        By default, a note says how many queries have no document of the relevance level.

        Args:
            queries: The scored queries.

        Raises:
            UsageError: If the figures would be meaningless for any run.
        """
        lacking = sum(RELEVANT <= one < self.relevance_level for one in queries.highest)
        if not lacking:
            return []
        total = len(queries.query_ids)
        return [
            f"no document of grade {self.relevance_level} or more for {lacking} of {total} queries"
        ]

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


class DeclaredMeasure(Measure):
    """A measure whose class declares its label and parameters.

    Args:
        cutoff: The deepest rank that counts, at least 1; ``None`` for the whole ranking.
        parameters: Values for names in ``parameter_defaults``. A parameter ``rel`` is the lowest
            grade that counts as relevant, at least 1.

    Raises:
        UsageError: If a parameter is unknown, or the cutoff or ``rel`` is missing or out of range.
    """

    label: ClassVar[str] = ""
    """The name without parameters; the name of the class if empty."""
    parameter_defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Each parameter with its default."""
    plain_name: ClassVar[str | None] = None
    """The name of a built-in measure in the service; ``None`` for the canonical name."""
    requires_cutoff: ClassVar[bool] = False
    """Whether the name must end in ``@k``."""

    def __init__(self, cutoff: int | None = None, **parameters: Any) -> None:
        label = self._label()
        self.parameters: Mapping[str, Any] = {
            **self.parameter_defaults,
            **known_parameters(label, parameters, self.parameter_defaults),
        }
        self.cutoff = checked_cutoff(cutoff, label, required=self.requires_cutoff)
        level = self.parameters.get("rel", 1)
        is_graded = level is None and self.parameter_defaults["rel"] is None
        self.relevance_level = 1 if is_graded else checked_level(level, label)

    def at_level(self, level: int) -> Measure:
        """Return the measure with a relevance level; see :meth:`Measure.at_level`."""
        if not self._takes_level() or level == 1:
            return self
        return type(self)(self.cutoff, **{**self.parameters, "rel": level})

    @classmethod
    def _label(cls) -> str:
        return cls.label or cls.__name__

    @property
    def name(self) -> str:
        """``Label(parameter=value)@cutoff``; parameters with their default value are left out."""
        return canonical_name(self._label(), self.parameters, self.parameter_defaults, self.cutoff)


def canonical_name(
    label: str, parameters: Mapping[str, Any], defaults: Mapping[str, Any], cutoff: float | None
) -> str:
    """Return a measure's name as ``ir_measures`` writes it: ``AP(rel=2)@100``."""
    spelled = [f"{key}={value!r}" for key, value in parameters.items() if value != defaults[key]]
    arguments = f"({','.join(spelled)})" if spelled else ""
    return f"{label}{arguments}{'' if cutoff is None else f'@{cutoff}'}"


def known_parameters(label: str, given: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Return parameters with the names as a measure writes them.

    Raises:
        UsageError: If a parameter is unknown.
    """
    canonical = {name.casefold(): name for name in known}
    unknown = sorted(name for name in given if name.casefold() not in canonical)
    if unknown:
        raise UsageError(
            f"{label} has no parameter {', '.join(unknown)}",
            remedy=f"supported: {', '.join(canonical.values()) or 'none'}",
        )
    return {canonical[name.casefold()]: value for name, value in given.items()}


def is_whole(value: Any, least: int = -MAX_CUTOFF, most: int = MAX_CUTOFF) -> bool:
    """Return whether a value is a whole number in a range, and not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def checked_cutoff(cutoff: Any, label: str, *, required: bool) -> int | None:
    """Return the cutoff, or refuse one that is missing or not a positive whole number."""
    if (cutoff is None and not required) or is_whole(cutoff, 1):
        return cutoff  # type: ignore[no-any-return]
    raise UsageError(
        f"{label} needs a cutoff of at least 1 but got {cutoff!r}",
        where=label,
        remedy=f"write it as {label}@10",
    )


def checked_level(level: Any, label: str) -> int:
    """Return the relevance level, or refuse one that is not a whole number of at least 1."""
    if is_whole(level, 1):
        return int(level)
    raise UsageError(
        f"rel must be a whole number of at least 1 but got {level!r}",
        where=label,
        remedy="use rel=1 or more; documents of grade 0 or less are never relevant",
    )


@cache  # reading the metadata of a package takes half a millisecond
def provided_by(distribution: str) -> str:
    """Return an installed distribution's name with its version."""
    from importlib.metadata import version

    return f"{distribution} {version(distribution)}"
