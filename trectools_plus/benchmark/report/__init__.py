"""The report of a benchmark: its models, and the files beside it."""

from __future__ import annotations

from trectools_plus.benchmark.report.manifest import DatasetInfo, Manifest, MergedRun
from trectools_plus.benchmark.report.model import (
    SCHEMA_VERSION,
    BenchmarkReport,
    Diagnosis,
    FailingQuery,
    SetSize,
    load_report,
    report_json_schema,
)
from trectools_plus.benchmark.report.modes import (
    ComponentMeasure,
    ComponentResult,
    Diagnostics,
    ModeResult,
    StratumResult,
    UnscoredMode,
)
from trectools_plus.benchmark.report.parts import (
    FindingRecord,
    MeasureDefinition,
    MeasureResult,
    ModeStatus,
    NearMiss,
    Relation,
    ResultStatus,
    RunInfo,
    SourceFile,
    TargetResult,
    TermLabel,
    TieInfo,
    UnscoredStatus,
    UpliftResult,
)
from trectools_plus.benchmark.report.verdict import BestOverall, Verdict
from trectools_plus.choices import TargetStatus
from trectools_plus.retrieval.fetch.outcome import Latency

__all__ = [
    "SCHEMA_VERSION",
    "BenchmarkReport",
    "BestOverall",
    "ComponentMeasure",
    "ComponentResult",
    "DatasetInfo",
    "Diagnosis",
    "Diagnostics",
    "FailingQuery",
    "FindingRecord",
    "Latency",
    "Manifest",
    "MeasureDefinition",
    "MeasureResult",
    "MergedRun",
    "ModeResult",
    "ModeStatus",
    "NearMiss",
    "Relation",
    "ResultStatus",
    "RunInfo",
    "SetSize",
    "SourceFile",
    "StratumResult",
    "TargetResult",
    "TargetStatus",
    "TermLabel",
    "TieInfo",
    "UnscoredMode",
    "UnscoredStatus",
    "UpliftResult",
    "Verdict",
    "load_report",
    "report_json_schema",
]
