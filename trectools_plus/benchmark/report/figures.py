"""The figures of a report: of modes, of their comparisons, of all together."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from trectools_plus.benchmark.report.parts import (
    FindingRecord,
    Manifest,
    MeasureResult,
    ModeStatus,
    NearMiss,
    ResultStatus,
    RunFile,
    UnscoredStatus,
)
from trectools_plus.models import ReportModel, WithoutUnset
from trectools_plus.retrieval.fetch.outcome import Latency
from trectools_plus.statistics.arrays import DEFAULT_CONFIDENCE
from trectools_plus.statistics.comparison import (
    Comparison,
    ConfidenceInterval,
    without_interval_of_one,
)

SCHEMA_VERSION: Literal["1.1"] = "1.1"


class PoolMode(ReportModel):
    """The dependence of a mode's score on the judgments."""

    judged: float | None
    """Mean share of judged documents among the first ten, between 0 and 1."""
    score: float | None
    """The mean of the measure."""
    low: float | None
    """The mean of each query's lower value, if its unjudged documents are all irrelevant or all
    relevant; null if the measure has no such bounds, for example because it depends on ids."""
    high: float | None
    """The mean of each query's higher value."""


class Pool(ReportModel):
    """The dependence of the primary measure on incomplete judgments."""

    measure: str
    """The primary measure's name as requested."""
    modes: dict[str, PoolMode]
    """By mode."""
    tau: float | None
    """Kendall's tau-b of the modes' judged shares and scores, between -1 and 1: near 1, modes with
    more judged documents score higher. Null for fewer than five modes."""


class QueryDifficulty(ReportModel):
    """A query, and its mean over modes."""

    query_id: str
    mean: float
    """Mean of the measure over the modes."""


class Difficulty(ReportModel):
    """The difficulty of the queries: the mean of the primary measure over the modes."""

    measure: str
    """The primary measure's name as requested."""
    n: int
    """Number of queries for which every mode defines the measure."""
    mean: float
    """Mean of the queries' means."""
    std: float | None
    """Their sample standard deviation (ddof = 1); null for one query."""
    quartiles: list[float]
    """Their first quartile, median and third quartile."""
    hardest: list[QueryDifficulty]
    """At most ten queries with a relevant document, the hardest first."""
    easiest: list[QueryDifficulty]
    """At most ten queries, the easiest first."""
    agreement: dict[str, float | None]
    """By mode, Kendall's tau-b of its values and the mean of the other modes, query by query,
    between -1 and 1: near 1, the same queries are difficult. Null if all values are equal."""


class Diagnostics(WithoutUnset):
    """Gaps and findings that limit the trust in a mode's figures."""

    _optional: ClassVar = {"cut_short": None}

    findings: list[FindingRecord]
    """Findings about its run file."""
    queries_without_relevant: list[str]
    """Judged queries without a relevant document."""
    missing_queries: list[str]
    """Queries of the means for which the mode returned nothing."""
    judged: dict[str, float | None]
    """Mean share of judged documents among the first results, by measure name."""
    shallow_queries: list[str]
    """Queries with some results, but fewer than the deepest cutoff and the number of documents."""
    cut_short: list[str] | None = None
    """Queries for which the mode returned fewer documents than requested although it found more
    results. Omitted if there are none."""
    status: ModeStatus
    """``incomplete`` if a query has no results or was cut short, a given run file has shallow
    queries, or the mode was fetched to a smaller depth than a measure's cutoff."""
    notes: list[str] = Field(default_factory=list)
    """The reasons why it is incomplete, and remarks on its results."""


class ModeResult(ReportModel):
    """Everything about one mode (or one given run)."""

    label: str
    """The name in tables."""
    status: ResultStatus = "ok"
    """``empty`` if nothing was found for any query; every measure is then 0 or undefined.
    Modes that are ``failed``, ``unavailable`` or incomplete are in the report's ``unscored``."""
    run: RunFile
    """The run file that was scored."""
    measures: dict[str, MeasureResult]
    """By the measures' names as requested; ``definition.name`` is the canonical name."""
    latency_ms: Latency | None
    """Null for given run files."""
    diagnostics: Diagnostics
    """Gaps and findings that limit the trust in the figures."""


class UnscoredMode(ReportModel):
    """A mode without figures, because it did not answer every query."""

    label: str
    """The name in tables."""
    status: UnscoredStatus
    """``incomplete``: some queries have no answer; ``failed``: no query has; ``unavailable``: no
    query has, because the backend was not reached or did not answer in time."""
    reason: str
    """A description of the failures."""
    queries: int
    """Number of queries."""
    failed_queries: dict[str, str]
    """Queries without an answer, each with the reason."""


class StratumResult(ReportModel):
    """One measure of one mode over the queries of one stratum."""

    mean: float | None
    n: int
    """Number of queries of the stratum for which the measure is defined."""
    ci: ConfidenceInterval | None
    """Interval of the mean; null as for the whole set of queries."""

    _without_interval_of_one = without_interval_of_one


class ComponentMeasure(ReportModel):
    """A component's contribution to one measure: the fusion of all minus the fusion without it."""

    mean: float | None
    """With all components: the mode's own mean."""
    mean_without: float | None
    """Without this one."""
    n: int
    """Number of queries for which both are defined."""
    difference: float | None
    """Mean over these queries; if it is above 0, the component raises the measure."""
    ci: ConfidenceInterval | None
    """Interval of the mean difference, as in a comparison of two modes."""
    p_adjusted: float | None
    """The p-value of the paired differences, adjusted for the family."""
    correction: str
    """The adjustment."""
    family: str = ""
    """A description of the comparisons that the adjustment counts; empty in reports of schema
    version 1.0, which adjust for the components alone."""
    significant: bool
    """As in a comparison of two modes."""

    _without_interval_of_one = without_interval_of_one


class ComponentResult(ReportModel):
    """The contribution of one ranking to a mode that merges several.

    There is none if the fusion without the ranking equals another mode: the comparison of the two
    modes has this result.
    """

    mode: str
    """The mode that merges."""
    component: str
    """The ranking that was left out; a mode's name."""
    run: RunFile
    """The mode's run without it."""
    measures: dict[str, ComponentMeasure]
    """By measure."""


class BestOverall(ReportModel):
    """The mode with the best mean on the primary measure."""

    mode: str
    """The mode."""
    measure: str
    """The primary measure."""
    settled: bool
    """True if the mode differs significantly from every other mode."""
    not_different: list[str]
    """The modes that do not differ significantly from it; empty if it is settled."""
    rule: str
    """The rule in words, without a full stop."""


class Verdict(WithoutUnset):
    """The result on one measure, and the figures that it is based on."""

    _optional: ClassVar = dict.fromkeys(("compared", "better", "worse"))

    text: str
    """One sentence."""
    measure: str
    """The measure; the primary one in a report."""
    best: str | None
    """The mode with the best mean, with baselines of the other modes; null on a tie, with one mode,
    or if the modes are not ranked."""
    second: str | None
    """The mode that the best one is compared with: the next best mode, or the best baseline."""
    value: float | None
    """The mean of the best mode, of tied modes, or of the only mode."""
    difference: float | None
    """Mean of the best mode minus the mean of the second one; below 0 if lower is better."""
    ci: ConfidenceInterval | None
    """The interval of the difference; with one mode, of the mean."""
    p_adjusted: float | None
    """The adjusted p-value of the difference."""
    significant: bool | None
    """True if the difference is significant; null if it was not tested."""
    compared: int | None = None
    """Number of modes that are compared with ``second``; omitted without a baseline."""
    better: int | None = None
    """Number of those that are significantly better; omitted without a baseline."""
    worse: int | None = None
    """Number of those that are significantly worse; omitted without a baseline."""
    queries: int
    """Number of queries behind it."""
    next_steps: list[str] = Field(default_factory=list)
    """What to look at next, a sentence each."""


class Diagnosis(ReportModel):
    """A pattern in the figures, and a suggestion."""

    mode: str | None
    """The mode; null for the comparison as a whole."""
    sign: str
    """A stable name of the pattern, for example ``low-recall``."""
    observed: str
    """The observation, with figures."""
    suggests: str
    """The suggestion."""


class FailingQuery(ReportModel):
    """A query for which every mode scores 0."""

    query_id: str
    text: str | None
    """The query's text; null if no topics were given."""
    measure: str
    """The measure that is 0."""
    values: dict[str, float]
    """The value by mode."""
    first_relevant_rank: dict[str, int | None]
    """Rank of the first relevant document by mode; null if none was returned."""


class ReportFigures(ReportModel):
    """The figures of a report, and how to find them; see :class:`BenchmarkReport`."""

    schema_version: Literal["1.0", "1.1"] = SCHEMA_VERSION
    """The version of this schema."""
    manifest: Manifest
    """Data, settings, versions and hashes."""
    primary_measure: str = ""
    """The measure of the verdict. Computed for reports that don't have it."""
    headline_measures: list[str] = Field(default_factory=list)
    """The measures to show first, the primary one first: those that the user named, otherwise at
    most six. Computed for reports that don't have them."""
    verdict: Verdict | None = None
    """The result on the primary measure in one sentence. Computed for reports that don't have
    it."""
    best_overall: BestOverall | None = None
    """The best mode on the primary measure; null with one mode, on a tie, or if the modes are not
    ranked."""
    equal_measures: list[list[str]] = Field(default_factory=list)
    """Groups of measures with the same value for every query and mode, by definition on these
    judgments: for example HitRate@1 and P@1."""
    modes: dict[str, ModeResult]
    """By mode, in the order of the configuration."""
    unscored: dict[str, UnscoredMode] = Field(default_factory=dict)
    """Modes without figures, which are not compared."""
    comparisons: list[Comparison]
    """Each pair of modes, or each mode against the baseline, on each measure. The p-values are
    adjusted for one family: every pair of modes, and the fusions without a component."""
    best_mode: dict[str, str | None]
    """The mode with the best mean by measure; null on a tie (for example if all are 0), with fewer
    than two modes, or if the means are over different queries."""
    best_mode_significant: dict[str, bool]
    """True if the best mode differs significantly from every other one, adjusted for every pair."""
    unranked: list[str] = Field(default_factory=list)
    """Measures that are defined for different queries in different modes: their means are over
    different queries, so no mode is best. A mode without a mean is not counted."""
    groups: dict[str, list[list[str]]] = Field(default_factory=dict)
    """By measure, the largest groups of at least two modes without significant differences, the
    best first; a mode may be in several. Empty if the means are over different queries."""
    strata: dict[str, dict[str, dict[str, dict[str, StratumResult]]]] = Field(default_factory=dict)
    """By field of the topics, value (most queries first), mode and measure."""
    failing_queries: list[FailingQuery]
    """Queries for which every mode scores 0 on the primary measure."""
    near_misses: list[NearMiss] | None = None
    """Wrong first results that are parent, child or sibling of an expected term; null if documents
    are not known to be terms of an ontology."""
    components: list[ComponentResult] = Field(default_factory=list)
    """The contribution of each ranking to the modes that merge several."""
    diagnosis: list[Diagnosis] = Field(default_factory=list)
    """Patterns in the figures."""
    pool: Pool | None = None
    """The dependence of the primary measure on the judgments; null if the qrels list only relevant
    documents, or the measure depends on more than grades and ranks."""
    difficulty: Difficulty | None = None
    """The difficulty of the queries; null for fewer than two modes."""
    notes: list[str] = Field(default_factory=list)
    """Remarks on the report as a whole, a sentence each."""

    @model_validator(mode="after")
    def _drop_ranks_over_different_queries(self) -> Self:
        """Remove best modes over different queries from an earlier report."""
        for name in self.best_mode:
            found = (one.measures.get(name) for one in self.modes.values())
            counts = {one.n for one in found if one is not None and one.mean is not None}
            if len(counts) > 1 and name not in self.unranked:
                self.unranked.append(name)
                self.best_mode[name] = None
                self.best_mode_significant[name] = False
                if name in self.groups:
                    self.groups[name] = []
        return self

    @property
    def confidence(self) -> float:
        """The level of the intervals and, as 1 minus it, of the tests; between 0 and 1."""
        return float(self.manifest.config.get("confidence", DEFAULT_CONFIDENCE))

    @property
    def measure_names(self) -> list[str]:
        """The measures' names as requested, in the order of the configuration."""
        return list(self.best_mode)

    @property
    def shown_measures(self) -> dict[str, list[str]]:
        """The measures to show, in order, each with the measures that always equal it.

        Of measures with equal values, the headline measures or else the first one are shown.
        """
        group_of = {name: group for group in self.equal_measures for name in group}
        shown: dict[str, list[str]] = {}
        for name in self.measure_names:
            group = group_of.get(name, [name])
            chosen = [one for one in self.headline_measures if one in group] or group[:1]
            for one in chosen:
                shown.setdefault(one, [other for other in group if other not in chosen])
        return shown

    @property
    def canonical_names(self) -> dict[str, str]:
        """The canonical name of each measure by its name as requested."""
        names = {name: name for name in self.measure_names}
        for result in self.modes.values():
            for name, figures in result.measures.items():
                names[name] = figures.definition.name or name
        return names

    def find_measure(self, requested: str) -> str | None:
        """Return the report's name of a measure in any spelling; ``None`` if it has none."""
        from trectools_plus.measures.parser import match_name

        return match_name(requested, self.canonical_names)

    @property
    def noun(self) -> str:
        """The word for what is compared: ``run`` for files of the user, ``mode`` for searches."""
        is_benchmark = self.manifest.experiment_id != ""  # otherwise the result of compare
        return "mode" if is_benchmark and self.manifest.config.get("runs") is None else "run"

    @property
    def runs(self) -> list[RunFile]:
        """Every run of the report: the runs of the modes, then those without a component."""
        return [*(one.run for one in self.modes.values()), *(one.run for one in self.components)]

    def higher_is_better(self, measure: str) -> bool:
        """Return whether a higher value of one of the report's measures is the better one.

        Args:
            measure: The measure, in any spelling.
        """
        measure = self.find_measure(measure) or measure
        definitions = (
            result.measures[measure].definition
            for result in self.modes.values()
            if measure in result.measures
        )
        return next((one.direction_of(measure) for one in definitions), True)

    def find_comparison(self, baseline: str, contrast: str, measure: str) -> Comparison | None:
        """Return contrast minus baseline on a measure, or ``None`` if they are not compared.

        Args:
            baseline: The mode that is subtracted.
            contrast: The mode it is subtracted from.
            measure: The measure, in any spelling.
        """
        name = self.find_measure(measure)
        for entry in self.comparisons:
            if entry.measure == name and {entry.baseline, entry.contrast} == {baseline, contrast}:
                return entry if entry.contrast == contrast else entry.turned()
        return None
