"""The report of a benchmark: its models, and the files beside it."""

from __future__ import annotations

from trectools_plus.benchmark.report.model import (
    SCHEMA_VERSION,
    BenchmarkReport,
    BestOverall,
    DatasetInfo,
    Diagnosis,
    Diagnostics,
    FailingQuery,
    FindingRecord,
    Manifest,
    MeasureDefinition,
    MeasureResult,
    ModeResult,
    ModeStatus,
    ResultStatus,
    RunFile,
    SourceFile,
    StratumResult,
    TargetResult,
    UnscoredMode,
    UnscoredStatus,
    UpliftResult,
    Verdict,
    report_json_schema,
)
from trectools_plus.benchmark.report.verdict import load_report
from trectools_plus.choices import TargetStatus
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
    "ResultStatus",
    "RunFile",
    "SourceFile",
    "StratumResult",
    "TargetResult",
    "TargetStatus",
    "UnscoredMode",
    "UnscoredStatus",
    "UpliftResult",
    "Verdict",
    "load_report",
    "report_json_schema",
]
