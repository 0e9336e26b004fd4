"""The report of a benchmark: the model of ``BenchmarkReport.json``, schema version 1.1.

An undefined float (a mean over no query) is ``None``, never NaN. Latencies are in milliseconds,
everything else in the measure's unit. Later versions add keys; readers ignore unknown keys and
accept version 1.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from trectools_plus.arguments import checked
from trectools_plus.benchmark.report.analyses import (
    Difficulty,
    DiscriminativePower,
    Pool,
    Similarity,
)
from trectools_plus.benchmark.report.manifest import Manifest
from trectools_plus.benchmark.report.modes import (
    ComponentResult,
    ModeResult,
    StratumResult,
    UnscoredMode,
)
from trectools_plus.benchmark.report.parts import MeasureResult, NearMiss, RunInfo
from trectools_plus.benchmark.report.verdict import (
    BestOverall,
    Verdict,
    add_result,
    choose_headlines,
    choose_primary,
)
from trectools_plus.display import Content, draw
from trectools_plus.errors import InputError
from trectools_plus.formats.files.opening import unreadable
from trectools_plus.models import ReportModel
from trectools_plus.statistics.arrays import DEFAULT_CONFIDENCE
from trectools_plus.statistics.comparison import Comparison
from trectools_plus.text import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA_VERSION: Literal["1.1"] = "1.1"


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


class SetSize(ReportModel):
    """The number of queries, compared with common sizes, in reports of earlier versions."""

    queries: int
    """Number of queries in the means."""
    use: str
    """``too_small``, ``sanity_check``, ``development``, ``standard`` or ``comprehensive``."""
    warning: str | None
    """A sentence, if figures over so few queries should not be published."""


class BenchmarkReport(ReportModel):
    """The result of a benchmark."""

    schema_version: Literal["1.0", "1.1"] = SCHEMA_VERSION
    """The version of this schema."""
    manifest: Manifest
    """Data, settings, versions and hashes."""
    primary_measure: str = ""
    """The measure of the verdict. Computed for reports that don't have it."""
    headline_measures: list[str] = Field(default_factory=list)
    """At most six measures, the primary one first. Computed for reports that don't have them."""
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
    """By measure, the largest groups of modes without significant differences, the best first; a
    mode may be in several. Empty if the means are over different queries."""
    size: SetSize | None = None
    """Null; reports of earlier versions state here whether the number of queries is common."""
    strata: dict[str, dict[str, dict[str, dict[str, StratumResult]]]] = Field(default_factory=dict)
    """By field of the topics, value (most queries first), mode and measure."""
    failing_queries: list[FailingQuery]
    """Queries for which every mode scores 0 on the first measure."""
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
    discriminative_power: dict[str, DiscriminativePower] = Field(default_factory=dict)
    """By measure; empty for fewer than four modes, or with a baseline."""
    similarity: Similarity | None = None
    """The similarity of the modes' rankings; null for fewer than three modes."""
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

    @model_validator(mode="after")
    def _add_result(self) -> Self:
        """Add the primary measure, the headline measures and the verdict to an earlier report."""
        if not self.primary_measure:
            self.__dict__["primary_measure"] = choose_primary(self)
        if not self.headline_measures:
            self.__dict__["headline_measures"] = choose_headlines(self, self.primary_measure)
        if self.verdict is None:
            found = add_result(self)
            self.__dict__.update(verdict=found.verdict, best_overall=found.best_overall)
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

        Of measures with equal values, a headline measure or else the first one is shown.
        """
        group_of = {name: group for group in self.equal_measures for name in group}
        shown: dict[str, list[str]] = {}
        for name in self.measure_names:
            group = group_of.get(name, [name])
            chosen = next((one for one in self.headline_measures if one in group), group[0])
            shown.setdefault(chosen, [one for one in group if one != chosen])
        return shown

    @property
    def canonical_names(self) -> dict[str, str]:
        """The canonical name of each measure by its name as requested."""
        names = {name: name for name in self.measure_names}
        for result in self.modes.values():
            for name, figures in result.measures.items():
                names[name] = figures.definition.name or name
        return names

    def is_sum(self, measure: str) -> bool:
        """Return whether the figures of one of the report's measures are sums, not means."""
        found = (result.measures.get(measure) for result in self.modes.values())
        return any(one is not None and one.definition.aggregate == "sum" for one in found)

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
    def runs(self) -> list[RunInfo]:
        """Every run of the report: the runs of the modes, then those without a component."""
        return [*(one.run for one in self.modes.values()), *(one.run for one in self.components)]

    def _text(self) -> str:
        """The experiment, the modes, the numbers of measures and queries, and the verdict."""
        queries = plural(self.manifest.dataset.queries, "query", "queries")
        measures = plural(len(self.measure_names), "measure")
        modes = ", ".join(self.modes)
        named = f"<BenchmarkReport {self.manifest.experiment_id}: {modes}; {measures}, {queries}>"
        return f"{named}\n{self.verdict.text}" if self.verdict else named

    def _content(self) -> Content:
        measures = self.headline_measures or self.measure_names
        rows = []
        queries = self.manifest.dataset.queries
        for result in self.modes.values():
            shown = [_show(result.measures[name], queries) for name in measures]
            rows.append([result.label, *shown])
        dataset = self.manifest.dataset
        size = plural(dataset.queries, "query", "queries")
        caption = f"{dataset.id}, {size}; {self.confidence * 100:g}% intervals"
        if self.verdict:
            caption = f"{self.verdict.text} {caption}"
        return Content(caption, [self.noun.capitalize(), *measures], rows)

    @checked
    def plot(self, measures: Sequence[str] | None = None) -> Figure:
        """Return a Matplotlib figure of means with their intervals.

        Each measure has a panel with its own scale, and a row for each mode. A notebook shows the
        figure if it is the last expression of a cell.

        Args:
            measures: The measures, in any spelling; by default the headline measures.

        Raises:
            UsageError: If the report does not have a measure.
        """
        found: Figure = draw("plot_report", self, measures)
        return found

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

    def of_mode(self, mode: str, failing: Sequence[FailingQuery]) -> BenchmarkReport:
        """Return the report of one mode: its figures and diagnostics, without comparisons.

        Args:
            mode: One of the modes.
            failing: The queries for which this mode scores 0 on the first measure.
        """
        alone = self.model_copy(
            update={
                "modes": {mode: self.modes[mode]},
                "unscored": {},
                "comparisons": [],
                "best_mode": dict.fromkeys(self.best_mode),
                "best_mode_significant": dict.fromkeys(self.best_mode_significant, False),
                "unranked": [],
                "groups": {},
                "strata": {
                    field: {
                        value: {mode: modes[mode]}
                        for value, modes in values.items()
                        if mode in modes
                    }
                    for field, values in self.strata.items()
                },
                "failing_queries": list(failing),
                "near_misses": self.near_misses
                and [one for one in self.near_misses if one.mode == mode],
                "components": [one for one in self.components if one.mode == mode],
                "diagnosis": [one for one in self.diagnosis if one.mode == mode],
                "pool": None,
                "difficulty": None,
                "discriminative_power": {},
                "similarity": None,
            }
        )
        return add_result(alone)

    def find_comparison(self, baseline: str, contrast: str, measure: str) -> Comparison | None:
        """Return the comparison of exactly this pair and measure, or ``None``.

        Args:
            baseline: The mode that is subtracted.
            contrast: The mode it is subtracted from.
            measure: The measure, in any spelling.
        """
        wanted = (baseline, contrast, self.find_measure(measure))
        for entry in self.comparisons:
            if (entry.baseline, entry.contrast, entry.measure) == wanted:
                return entry
        return None


def _show(result: MeasureResult, queries: int) -> str:
    if result.mean is None:
        return "–"
    count = "" if result.n == queries else f" (n = {result.n:,})"
    if result.ci is None or result.ci.low is None or result.ci.high is None:
        return f"{result.mean:.4f}{count}"
    return f"{result.mean:.4f} [{result.ci.low:.3f}, {result.ci.high:.3f}]{count}"


def report_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of ``BenchmarkReport.json``."""
    schema = BenchmarkReport.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def load_report(path: str | Path) -> BenchmarkReport:
    """Read a report that :func:`trectools_plus.reporting.files.write_json` wrote.

    Args:
        path: The file ``BenchmarkReport.json``.

    Returns:
        The report.

    Raises:
        InputError: If the file cannot be read, is not a report, or has another schema version.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise unreadable(error, str(path)) from error
    except UnicodeDecodeError as error:
        raise InputError("the report is not UTF-8 text", where=str(path)) from error
    try:
        return BenchmarkReport.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputError(
            f"not a benchmark report of schema version {SCHEMA_VERSION}: {field}: {first['msg']}",
            where=str(path),
            remedy="use a BenchmarkReport.json written by `benchmark run`",
        ) from error
