"""The report of a benchmark: the model of ``BenchmarkReport.json``, schema version 1.1.

An undefined float (a mean over no query) is ``None``, never NaN. Latencies are in milliseconds,
everything else in the measure's unit. Later versions add keys; readers ignore unknown keys and
accept version 1.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from trectools_plus.benchmark.run.targets import TargetResult
from trectools_plus.choices import Averaging
from trectools_plus.display import TextTable
from trectools_plus.errors import checked
from trectools_plus.formats.hashing import sha256_text
from trectools_plus.lazy_names import render
from trectools_plus.measures.scoring import Ties
from trectools_plus.models import BaseManifest, ReportModel, WithoutUnset
from trectools_plus.retrieval.index.models import SourceFile
from trectools_plus.retrieval.outcome import Latency
from trectools_plus.statistics.arrays import DEFAULT_CONFIDENCE
from trectools_plus.statistics.comparison import (
    Comparison,
    ConfidenceInterval,
    ends_of,
    without_interval_of_one,
)
from trectools_plus.text import plural
from trectools_plus.validation.findings import Finding, Severity

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class MeasureDefinition(WithoutUnset):
    """The definition of a measure."""

    _optional: ClassVar = {"higher_is_better": True}

    name: str | None = None
    """The canonical name, which is the same for all spellings; null in reports of earlier versions,
    which label measures with it."""
    formula: str
    """In words and symbols; rank counts from 1."""
    gain: str
    """The gain of a document of grade g."""
    cutoff: int | None
    """The deepest rank that counts; null is the whole ranking."""
    denominator: str
    """The divisor of the sum."""
    relevance_level: int
    """The lowest grade that counts as relevant."""
    ties: str
    """The order of equal scores."""
    averaged_over: str
    """The queries in the mean."""
    provider: str
    """The library that computes it, with its version."""
    trec_eval_call: str | None = None
    """The trec_eval options that print the same figure; null if there are none."""
    alias: str | None = None
    """The name as the user wrote it, if that differs."""
    higher_is_better: bool | None = None
    """False if a lower value is better; omitted otherwise, and in reports of schema version 1.0,
    where lower is better for MeanRank and MinRank."""

    def direction_of(self, name: str) -> bool:
        """Return whether a higher value of the measure of this name is better."""
        if self.higher_is_better is not None:
            return self.higher_is_better
        return re.split("[(@]", self.name or name, maxsplit=1)[0] not in ("MeanRank", "MinRank")


class StratumResult(ReportModel):
    """One measure of one mode over the queries of one stratum."""

    mean: float | None
    """Arithmetic mean over the queries for which the measure is defined."""
    n: int
    """Number of queries in the mean."""
    ci: ConfidenceInterval | None
    """Interval of the mean; null for fewer than two queries, and where no interval is
    valid, because all values are equal."""

    _without_interval_of_one = without_interval_of_one


class MeasureResult(StratumResult):
    """One measure of one mode, over all queries."""

    median: float | None
    """Median over the same queries."""
    std: float | None
    """Sample standard deviation (ddof = 1); null for fewer than two queries."""
    definition: MeasureDefinition
    """The definition of the measure."""
    target: TargetResult | None
    """Its target; null if none is set."""


class RunFile(ReportModel):
    """The run file that was scored."""

    path: str | None = None
    """Relative to the report's folder, with forward slashes; null if nothing was found for any
    query: then there is no run file."""
    sha256: str | None = None
    """SHA-256 of its bytes; null without a file."""
    source: SourceFile | None = None
    """The original run file; null if this benchmark fetched the run."""
    queries: int
    """Queries with at least one result."""
    results: int = 0
    """Rows."""
    depth: int = 0
    """Most results of any query."""
    ties: Ties = Field(default_factory=lambda: Ties(0, 0, 0, {}))
    """Ties of the whole run, as it was given or fetched: document ids decide their order. The file
    in the report's folder has the same order without ties."""


class FindingRecord(ReportModel):
    """One finding of a validator."""

    code: str
    name: str
    severity: Severity
    line: int | None
    column: int | None
    count: int
    query_id: str | None
    doc_id: str | None
    message: str
    remedy: str | None
    fix: str


def record_findings(findings: Iterable[Finding]) -> list[FindingRecord]:
    """Return findings as parts of the report, in the same order."""
    return [FindingRecord.model_validate(finding, from_attributes=True) for finding in findings]


def hash_config(config: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of a configuration as JSON with sorted keys and no blanks."""
    return sha256_text(
        json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    )


def make_experiment_id(moment: datetime, config_hash: str) -> str:
    """Return the time in UTC and the start of the hash, as in ``20250131-120000-0f3a9c21``."""
    return f"{moment.astimezone(UTC):%Y%m%d-%H%M%S}-{config_hash[:8]}"


class DatasetInfo(ReportModel):
    """The documents, topics and qrels."""

    id: str
    """``hpo``, ``sample``, ``irds:…``, or the name of the folder or file."""
    version: str | None = None
    """The version that the data state, if any."""
    queries: int
    """Number of queries in the means."""
    documents: int | None = None
    """Number of documents in the corpus; null if none was given."""
    sha256: str = ""
    """SHA-256 over ``contents``: equal for datasets with the same data."""
    contents: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of each part, independent of the file format: corpus, topics (ids and texts),
    query_fields (the topics' further fields), qrels; and of the files with ontology and
    annotations."""
    files: dict[str, SourceFile] = Field(default_factory=dict)
    """The files that the data were read from."""
    findings: list[FindingRecord] = Field(default_factory=list)
    """Findings about qrels and topics."""


class Manifest(BaseManifest):
    """Everything that is needed to reproduce the figures."""

    dataset: DatasetInfo
    """The data."""
    config: dict[str, Any]
    """The configuration with every default spelled out, without the output folder. In reports
    without ``no_relevant``, queries without a relevant document are left out (``drop``)."""
    config_hash: str = ""
    """SHA-256 of the configuration as JSON with sorted keys and no blanks."""
    experiment_id: str = ""
    index_snapshots: dict[str, str] = Field(default_factory=dict)
    """Key of the index of each fetched mode."""
    models: dict[str, SourceFile] = Field(default_factory=dict)
    """Local models of the modes by role: embedding (embedding-NAME for one of several), splade,
    reranker."""
    blas_threads: int | None = None
    """Threads of a matrix product during the search; null if nothing was searched, if the number
    could not be limited, and in reports of earlier versions, which did not limit it."""

    @property
    def averaging(self) -> Averaging:
        """The treatment of queries without results and without a relevant document.

        Versions that did not record the latter left such queries out.
        """
        return Averaging(self.config.get("missing", "zero"), self.config.get("no_relevant", "drop"))


SCHEMA_VERSION: Literal["1.1"] = "1.1"


class Diagnostics(WithoutUnset):
    """Gaps and findings that limit the trust in a mode's figures."""

    _optional: ClassVar = {"cut_short": None}

    findings: list[FindingRecord] = Field(default_factory=list)
    """Findings about its run file."""
    queries_without_relevant: list[str]
    """Judged queries without a relevant document."""
    missing_queries: list[str] = Field(default_factory=list)
    """Queries of the means for which the mode returned nothing."""
    judged: dict[str, float | None] = Field(default_factory=dict)
    """Mean share of judged documents among the first results, by measure name."""
    shallow_queries: list[str] = Field(default_factory=list)
    """Queries with some results, but fewer than the deepest cutoff and the number of documents."""
    cut_short: list[str] | None = None
    """Queries for which the mode returned fewer documents than requested although it found more
    results. Omitted if there are none."""
    status: Literal["complete", "incomplete"]
    """``incomplete`` if a query has no results or was cut short, a given run file has shallow
    queries, or the mode was fetched to a smaller depth than a measure's cutoff."""
    notes: list[str] = Field(default_factory=list)
    """The reasons why it is incomplete, and remarks on its results."""


class ModeFigures(ReportModel):
    """The figures of one mode (or one given run)."""

    label: str
    """The name in tables."""
    measures: dict[str, MeasureResult]
    """By the measures' names as requested; ``definition.name`` is the canonical name."""


class ModeResult(ModeFigures):
    """Everything about one mode (or one given run)."""

    status: Literal["ok", "empty", "failed", "unavailable"] = "ok"
    """``empty`` if nothing was found for any query; every measure is then 0 or undefined.
    Modes that are ``failed``, ``unavailable`` or incomplete are in the report's ``unscored``."""
    run: RunFile
    """The run file that was scored."""
    latency_ms: Latency | None = None
    """Null for given run files."""
    diagnostics: Diagnostics
    """Gaps and findings that limit the trust in the figures."""


class UnscoredMode(ReportModel):
    """A mode without figures, because it did not answer every query."""

    label: str
    """The name in tables."""
    status: Literal["incomplete", "failed", "unavailable"]
    """``incomplete``: some queries have no answer; ``failed``: no query has; ``unavailable``: no
    query has, because the backend was not reached or did not answer in time."""
    reason: str
    """A description of the failures."""
    queries: int
    """Number of queries."""
    failed_queries: dict[str, str]
    """Queries without an answer, each with the reason."""


class BestOverall(ReportModel):
    """The mode with the best mean on the primary measure."""

    mode: str
    """The mode."""
    settled: bool
    """True if the mode differs significantly from every other mode."""


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


class Setup(NamedTuple):
    """The data and the settings of a comparison.

    Attributes:
        data: The dataset, or the file of the judgments; empty without one.
        queries: Number of queries in the means.
        config: The settings.
        noun: The word for what is compared: ``run`` for files of the user, ``mode`` for searches.
        unscored: Labels of modes without figures.
    """

    data: str
    queries: int
    config: dict[str, Any]
    noun: str
    unscored: Sequence[str] = ()


class ComparisonReport(ReportModel):
    """The figures of modes or runs, and their differences."""

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
    modes: Mapping[str, ModeFigures]
    """By mode, in the order of the configuration."""
    comparisons: list[Comparison]
    """Each pair of modes, or each mode against the baseline, on each measure. The p-values are
    adjusted for all of them on one measure."""
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

    @property
    def setup(self) -> Setup:
        """The data and the settings."""
        raise NotImplementedError

    @property
    def confidence(self) -> float:
        """The level of the intervals and, as 1 minus it, of the tests; between 0 and 1."""
        return float(self.setup.config.get("confidence", DEFAULT_CONFIDENCE))

    @property
    def measure_names(self) -> list[str]:
        """The measures' names as requested, in the order of the configuration."""
        return list(self.best_mode)

    @property
    def canonical_names(self) -> dict[str, str]:
        """The canonical name of each measure by its name as requested."""
        figures = [item for mode in self.modes.values() for item in mode.measures.items()]
        named = {name: one.definition.name or name for name, one in figures}
        return {name: named.get(name, name) for name in (*self.measure_names, *named)}

    def find_measure(self, requested: str) -> str | None:
        """Return the report's name of a measure in any spelling; ``None`` if it has none."""
        from trectools_plus.measures.parser import match_name

        return match_name(requested, self.canonical_names)

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

    def _content(self) -> TextTable:
        """Return the verdict and the headline measures of every mode."""
        measures, setup = self.headline_measures or self.measure_names, self.setup
        rows = [
            [mode.label, *(_show(mode.measures[name], setup.queries) for name in measures)]
            for mode in self.modes.values()
        ]
        data = ", ".join(filter(None, (setup.data, plural(setup.queries, "query", "queries"))))
        verdict = f"{self.verdict.text} " if self.verdict else ""
        caption = f"{verdict}{data}; {self.confidence * 100:g}% intervals"
        return TextTable.of([setup.noun.capitalize(), *measures], rows, caption=caption)

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
        found: Figure = render("plot_report", self, measures)
        return found


class RunComparison(ComparisonReport):
    """The comparison of given runs, as in ``compare --format json``."""

    qrels: str | None
    """The file of the judgments; null if they are not from a file."""
    queries: int
    """Number of queries in the means."""
    config: dict[str, Any]
    """Measures, baselines, and the settings of means, intervals and tests."""
    notes: list[str]
    """Notes on the input for readers of the figures."""

    @property
    def setup(self) -> Setup:
        """The data and the settings."""
        return Setup(self.qrels or "", self.queries, self.config, "run")


class BenchmarkReport(ComparisonReport):
    """The result of a benchmark."""

    schema_version: Literal["1.0", "1.1"] = SCHEMA_VERSION
    """The version of this schema."""
    manifest: Manifest
    """Data, settings, versions and hashes."""
    modes: dict[str, ModeResult]
    """By mode, in the order of the configuration."""
    unscored: dict[str, UnscoredMode] = Field(default_factory=dict)
    """Modes without figures, which are not compared."""
    strata: dict[str, dict[str, dict[str, dict[str, StratumResult]]]] = Field(default_factory=dict)
    """By field of the topics, value (most queries first), mode and measure."""
    failing_queries: list[FailingQuery] = Field(default_factory=list)
    """Queries for which every mode scores 0 on the primary measure."""
    diagnosis: list[Diagnosis] = Field(default_factory=list)
    """Patterns in the figures."""
    notes: list[str] = Field(default_factory=list)
    """Remarks on the report as a whole, a sentence each."""

    @property
    def setup(self) -> Setup:
        """The data and the settings."""
        dataset, config = self.manifest.dataset, self.manifest.config
        noun = "mode" if config.get("runs") is None else "run"
        labels = [mode.label for mode in self.unscored.values()]
        return Setup(dataset.id, dataset.queries, config, noun, labels)


def _show(result: MeasureResult, queries: int) -> str:
    if result.mean is None:
        return "–"
    low, high = ends_of(result.ci)
    interval = "" if low is None else f" [{low:.3f}, {high:.3f}]"
    return f"{result.mean:.4f}{interval}" + f" (n = {result.n:,})" * (result.n != queries)


def report_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of ``BenchmarkReport.json``."""
    schema = BenchmarkReport.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
