"""The report of a benchmark: its models, and the files beside it."""

from __future__ import annotations

from trectools_plus.benchmark.report.figures import (
    SCHEMA_VERSION,
    BestOverall,
    Diagnosis,
    Diagnostics,
    FailingQuery,
    ModeResult,
    StratumResult,
    UnscoredMode,
    Verdict,
)
from trectools_plus.benchmark.report.model import (
    BenchmarkReport,
    load_report,
    report_json_schema,
)
from trectools_plus.benchmark.report.parts import (
    DatasetInfo,
    FindingRecord,
    Manifest,
    MeasureDefinition,
    MeasureResult,
    ModeStatus,
    NearMiss,
    ResultStatus,
    RunFile,
    SourceFile,
    TargetResult,
    TermLabel,
    TieInfo,
    UnscoredStatus,
    UpliftResult,
)
from trectools_plus.choices import Relation, TargetStatus
from trectools_plus.retrieval.fetch.outcome import Latency

__all__ = [
    "SCHEMA_VERSION",
    "BenchmarkReport",
    "BestOverall",
    "DatasetInfo",
    "Diagnosis",
    "Diagnostics",
    "FailingQuery",
    "FindingRecord",
    "Latency",
    "Manifest",
    "MeasureDefinition",
    "MeasureResult",
    "ModeResult",
    "ModeStatus",
    "NearMiss",
    "Relation",
    "ResultStatus",
    "RunFile",
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
