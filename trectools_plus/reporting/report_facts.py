"""What every rendering of a report says in the same words: choices, lists and short texts."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from trectools_plus.benchmark.report import (
    BenchmarkReport,
    Comparison,
    FindingRecord,
    MeasureDefinition,
    TargetResult,
)

_MOST_PAIRS = 60
_MERGE = ("benchmark", "merge", "BenchmarkReport.json", "--run")


@dataclass(frozen=True, slots=True)
class Findings:
    """What the validators said of a benchmark's files.

    Attributes:
        serious: Errors and warnings, each with the label of what it is about.
        infos: How many findings of severity info there are beside them.
    """

    serious: list[tuple[str, FindingRecord]]
    infos: int


def choose_comparisons(report: BenchmarkReport) -> list[Comparison]:
    """All comparisons in the order of measures; of very many only those with the best mode."""
    order = {name: place for place, name in enumerate(report.measure_names)}
    entries = sorted(report.comparisons, key=lambda entry: order[entry.measure])
    if len(entries) <= _MOST_PAIRS:
        return entries
    return [
        entry
        for entry in entries
        if report.best_mode[entry.measure] in (entry.baseline, entry.contrast)
    ][:_MOST_PAIRS]


def name_difference(report: BenchmarkReport, entry: Comparison) -> str:
    """``Hybrid − Lexical-Only``, with the number of queries where that is not all of them."""
    name = f"{report.modes[entry.contrast].label} − {report.modes[entry.baseline].label}"
    all_queries = entry.n == report.manifest.dataset.queries
    return name if all_queries else f"{name} (n = {entry.n})"


def collect_findings(report: BenchmarkReport) -> Findings:
    """The findings about qrels and topics, then those about each mode's run."""
    sources = [("Qrels and topics", report.manifest.dataset.findings)]
    sources += [(result.label, result.diagnostics.findings) for result in report.modes.values()]
    found = [(label, item) for label, findings in sources for item in findings]
    serious = [(label, item) for label, item in found if item.severity != "info"]
    return Findings(serious, len(found) - len(serious))


def list_hashes(report: BenchmarkReport) -> list[tuple[str, str]]:
    """SHA-256 of everything that the figures rest on, each with what it is the hash of."""
    manifest = report.manifest
    runs = (result.run for result in report.modes.values())
    return [
        *((f"data: {kind} (contents)", each) for kind, each in manifest.dataset.contents.items()),
        *((f"file: {file.path}", file.sha256) for file in manifest.dataset.files.values()),
        *((run.path, run.sha256) for run in runs if run.path is not None and run.sha256),
        ("configuration", manifest.config_hash),
    ]


def list_commands(report: BenchmarkReport) -> list[str]:
    """The command lines that make the report again."""
    own = report.manifest.packages.get("trectools-plus")
    return [
        f"pip install trectools-plus{f'=={own}' if own else ''}",
        report.manifest.command or "trectools-plus benchmark run --config benchmark.yaml",
        *(
            shlex.join(["trectools-plus", *_MERGE, f"{run.name}={run.path}"])
            for run in report.manifest.merged
        ),
    ]


def list_definition(definition: MeasureDefinition) -> list[str]:
    """What a measure's figures mean, part by part."""
    return [
        definition.formula,
        f"gain: {definition.gain}",
        f"divided by: {definition.denominator}",
        f"relevant from grade {definition.relevance_level}",
        f"by {definition.provider}",
    ]


def show_baseline(target: TargetResult) -> str:
    """What a plain baseline typically reaches: a value, a range, or a dash."""
    if target.baseline is None:
        return "–"
    high = "" if target.baseline_high is None else f"–{target.baseline_high:g}"
    return f"{target.baseline:g}{high}"


def show_rank(rank: int | None) -> str:
    """The rank of a first relevant document, in words."""
    return "not found" if rank is None else f"rank {rank}"
