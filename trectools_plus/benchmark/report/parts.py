"""Parts of a report: manifest, definitions, targets, files, findings; hashes and experiment ids."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

from pydantic import Field

from trectools_plus.choices import Averaging, Relation, TargetStatus
from trectools_plus.models import BaseManifest, Conditions, ReportModel, WithoutUnset
from trectools_plus.retrieval.index.models import ModelRecord
from trectools_plus.statistics.comparison import ConfidenceInterval, without_interval_of_one
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.findings import Finding, Severity

ModeStatus = Literal["complete", "incomplete"]
ResultStatus = Literal["ok", "empty", "failed", "unavailable"]
UnscoredStatus = Literal["incomplete", "failed", "unavailable"]


_LOWER_IN_EARLIER_REPORTS = frozenset({"MeanRank", "MinRank"})
"""Labels of measures where lower is better, for reports that don't contain the direction."""


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
    """False if a lower value is better. Omitted otherwise, and in reports of earlier versions; in
    those, lower is better for MeanRank and MinRank."""

    def direction_of(self, name: str) -> bool:
        """Return whether a higher value of the measure of this name is better."""
        if self.higher_is_better is not None:
            return self.higher_is_better
        return re.split("[(@]", self.name or name, maxsplit=1)[0] not in _LOWER_IN_EARLIER_REPORTS


class UpliftResult(ReportModel):
    """The difference of a mode's mean from that of the baseline, and the meaningful range."""

    baseline: str
    """The mode that is subtracted."""
    difference: float | None
    """Mean minus the baseline's mean; null if one of them is undefined."""
    low: float
    """A difference of at least this is meaningful."""
    high: float
    """Upper end of the range of differences that are typical of an improvement."""
    meaningful: bool | None
    """True if the difference is at least ``low``; null if it is undefined."""


class TargetResult(WithoutUnset):
    """A measure's target, and the levels that the mean and its interval reach."""

    _optional: ClassVar = dict.fromkeys(("above", "names", "band", "uplift"))

    baseline: float | None
    """The typical result of a plain BM25 baseline; null if unknown."""
    baseline_high: float | None = None
    """Upper end of the typical range; null if it is one value."""
    competitive: float
    """A result of at least this is competitive ("good")."""
    strong: float | None = None
    """A result of at least this is strong; null if no such level is set."""
    status: TargetStatus | None
    """The highest level that the mean reaches; null if the mean is undefined.
    ``below_competitive`` if there is no baseline."""
    status_low: TargetStatus | None = None
    """The highest level that the lower end of the mean's interval reaches; null without one."""
    status_high: TargetStatus | None = None
    """The highest level that the upper end reaches; null without one."""
    above: bool | None = None
    """True if a mean must be above a level to reach it. Omitted otherwise."""
    names: dict[str, str] | None = None
    """Names of the levels, for example ``{"competitive": "good", "strong": "very good"}``; omitted
    if they have none."""
    band: str | None = None
    """The name of the level that the mean reaches; omitted without names."""
    uplift: UpliftResult | None = None
    """The uplift over the baseline; omitted if the target has no range, or for the baseline."""


class MeasureResult(ReportModel):
    """One measure of one mode, over all queries."""

    mean: float | None
    """Arithmetic mean over the queries for which the measure is defined."""
    median: float | None
    """Median over the same queries."""
    std: float | None
    """Sample standard deviation (ddof = 1); null for fewer than two queries."""
    n: int
    """Number of queries in the mean."""
    ci: ConfidenceInterval | None
    """Interval of the mean; null for a sum, for fewer than two queries, and where no interval is
    valid, because all values are equal."""
    definition: MeasureDefinition
    """The definition of the measure."""
    target: TargetResult | None
    """Its target; null if none is set."""

    _without_interval_of_one = without_interval_of_one


class TermLabel(ReportModel):
    """A term of an ontology."""

    doc_id: str
    """Its id, as in the run or the judgments."""
    label: str
    """Its name in the ontology."""


class NearMiss(ReportModel):
    """A query whose first result is not relevant, but a neighbour of an expected term."""

    query_id: str
    text: str | None
    """The query's text; null if no topics were given."""
    mode: str
    """The mode that returned it."""
    first: TermLabel
    """The first result."""
    relation: Relation
    """The relation of the first result to the expected terms; a sibling shares a parent with them.
    Of several relations, the first of ``parent``, ``child``, ``sibling``."""
    expected: list[TermLabel]
    """The expected terms with this relation."""


class TieInfo(ReportModel):
    """Adjacent results of one query with equal scores: document ids decide their order.

    Counted in the original run; the file in the report's folder has the same order without ties.
    """

    pairs: int
    """Pairs equal as 32-bit floats, which are ties for trec_eval 9 and pytrec_eval."""
    pairs_64: int
    """Pairs equal as 64-bit floats, which are ties for trec_eval 10."""
    queries: int
    """Queries with a tie (32 bits)."""
    straddling: dict[str, int]
    """By cutoff, the number of queries with a tie (32 bits) across it."""


class SourceFile(ReportModel):
    """A file that was given."""

    path: str
    """As the user wrote it."""
    sha256: str
    """SHA-256 of its bytes."""


class RunFile(ReportModel):
    """The run file that was scored."""

    path: str | None
    """Relative to the report's folder, with forward slashes; null if nothing was found for any
    query: then there is no run file."""
    sha256: str | None
    """SHA-256 of its bytes; null without a file."""
    source: SourceFile | None = None
    """The original run file; null if this benchmark fetched the run."""
    queries: int
    """Queries with at least one result."""
    results: int
    """Rows."""
    depth: int
    """Most results of any query."""
    ties: TieInfo
    """Ties of the whole run."""


class FindingRecord(ReportModel):
    """One finding of a validator."""

    code: str
    name: str
    severity: Literal["error", "warning", "info"]
    line: int | None
    column: int | None
    count: int
    query_id: str | None
    doc_id: str | None
    message: str
    remedy: str | None
    fix: str

    @property
    def shown_severity(self) -> str:
        """The severity in reports: a ``note`` for the depth, whose limit depends on the task."""
        return "note" if self.code == "R161" else self.severity


def restore_findings(records: Iterable[FindingRecord], path: str) -> list[Finding]:
    """Return the findings of a report on a file that was accepted."""
    return [
        Finding(
            code=record.code,
            name=record.name,
            severity=Severity(record.severity),
            path=path,
            message=record.message,
            remedy=record.remedy or "",
            line=record.line,
            count=record.count,
            note=CATALOGUE[record.code].notes.get(record.severity, ""),
        )
        for record in records
    ]


def record_findings(findings: Iterable[Finding]) -> list[FindingRecord]:
    """Return findings as parts of the report, in the same order."""
    return [
        FindingRecord(
            code=finding.code,
            name=finding.name,
            severity=finding.severity.value,
            line=finding.line,
            column=finding.column,
            count=finding.count,
            query_id=finding.query_id,
            doc_id=finding.doc_id,
            message=finding.message,
            remedy=finding.remedy,
            fix=finding.fix.value,
        )
        for finding in findings
    ]


def hash_config(config: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of a configuration as JSON with sorted keys and no blanks."""
    text = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def make_experiment_id(moment: datetime, config_hash: str) -> str:
    """Return the time in UTC and the start of the hash, as in ``20250131-120000-0f3a9c21``."""
    return f"{moment.astimezone(UTC):%Y%m%d-%H%M%S}-{config_hash[:8]}"


class DatasetInfo(ReportModel):
    """The documents, topics and qrels."""

    id: str
    """``hpo``, ``sample``, ``irds:…``, or the name of the folder or file."""
    version: str | None
    """The version that the data state, if any."""
    queries: int
    """Number of queries in the means."""
    documents: int | None
    """Number of documents in the corpus; null if none was given."""
    sha256: str
    """SHA-256 over ``contents``: equal for datasets with the same data."""
    contents: dict[str, str]
    """SHA-256 of each part, independent of the file format: corpus, topics (ids and texts),
    query_fields (the topics' further fields), qrels; and of the files with ontology and
    annotations."""
    files: dict[str, SourceFile] = Field(default_factory=dict)
    """The files that the data were read from."""
    findings: list[FindingRecord] = Field(default_factory=list)
    """Findings about qrels and topics."""


class ConfiguredConditions(Conditions):
    """Also the data and the configuration of a measurement."""

    dataset: DatasetInfo
    """The data."""
    config: dict[str, Any]
    """The configuration with every default spelled out, without the output folder. In reports
    without ``no_relevant``, queries without a relevant document are left out (``drop``)."""
    config_hash: str
    """SHA-256 of the configuration as JSON with sorted keys and no blanks."""


class Manifest(ConfiguredConditions, BaseManifest):
    """Everything that is needed to reproduce the figures."""

    experiment_id: str
    index_snapshots: dict[str, str]
    """Key of the index of each fetched mode."""
    models: dict[str, ModelRecord] = Field(default_factory=dict)
    """Local models of the modes by role: embedding (embedding-NAME for one of several), splade,
    reranker."""
    blas_threads: int | None = None
    """Threads of a matrix product during the search; null if nothing was searched, if the number
    could not be limited, and in reports of earlier versions, which did not limit it."""
    cache_key: str | None = None
    """SHA-256 over configuration, data and code; null if results cannot be reused."""
    cached_from: str | None = None
    """The experiment whose results, latencies included, are reused; null if all were computed."""

    @property
    def averaging(self) -> Averaging:
        """The treatment of queries without results and without a relevant document.

        Versions that did not record the latter left such queries out.
        """
        return Averaging(self.config.get("missing", "zero"), self.config.get("no_relevant", "drop"))
