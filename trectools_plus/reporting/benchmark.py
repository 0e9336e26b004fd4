"""The report of a benchmark as blocks: the result first, then sections."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from trectools_plus.benchmark.report import BenchmarkReport, ComparisonReport
from trectools_plus.benchmark.run.targets import describe_status
from trectools_plus.benchmark.verdict import baselines_of
from trectools_plus.display import TextTable
from trectools_plus.models import BaseManifest
from trectools_plus.reporting.comparison import (
    MOST_COLUMNS,
    best_first,
    describe_dataset,
    describe_difference_intervals,
    difference_row,
    differences_table,
    explain,
    fold,
    headline_table,
    mean_cell,
    method_line,
    name_letters,
)
from trectools_plus.reporting.document import (
    Block,
    Bullets,
    Fold,
    Heading,
    Paragraph,
    block_lines,
    markdown,
    table_of,
    table_width,
)
from trectools_plus.text import join_names, make_console, plural, visible

if TYPE_CHECKING:
    from rich.console import Console

MOST_QUERIES = 50
"""Maximum number of queries in a list; the JSON report has all."""
CLAIMS_TITLE = "Reported by the writer, not verified"
"""The heading of what a report states and nobody can derive from the files beside it."""
MOST_LINES = 40
"""The greatest number of lines of a report on the terminal, unless everything is printed."""
_MOST_MODES = 12
"""The greatest number of modes in a table of modes on the terminal."""
_MOST_PAIRS = 60
"""Maximum number of pairs in a table of differences."""
"""Of more modes, a sentence gives only the number."""
_LONGEST_TEXT = 120
_NOT_PRINTED = ("others", "runs", "definitions", "settings", "claims")
"""Sections that the terminal does not show; they are in files."""


def render_markdown(report: BenchmarkReport) -> str:
    """Return the report as GitHub-flavoured Markdown: title, verdict and headline table first.

    Long sections are collapsed.

    Args:
        report: The report.
    """
    means = _tables(report, report.headline_measures)
    return markdown(_result(report) + means + _list_notes(report) + [*report_sections(report)])


def _result(report: ComparisonReport) -> list[Block]:
    return [
        Heading(f"Benchmark of {describe_dataset(report)}", 1),
        Paragraph("" if report.verdict is None else report.verdict.text, "result"),
        Paragraph(method_line(report), "small"),
    ]


def _tables(report: ComparisonReport, measures: Sequence[str]) -> list[Block]:
    """Return the means, the differences from baselines, and how to read them."""
    lines = explain(report, measures, name_letters(report, measures))
    tables = [headline_table(report, measures)]
    if baselines_of(report):
        tables.append(differences_table(report, [report.primary_measure]))
    elif len(report.modes) > 1:
        lines.append(f"*: significantly ahead of every other {report.setup.noun}; n.s.: not.")
    return [*tables, *(Paragraph(line, "small") for line in lines)]


def _list_notes(report: ComparisonReport) -> list[Block]:
    """Return notes, and what to look at next."""
    steps = [] if report.verdict is None else report.verdict.next_steps
    return [
        *(Paragraph(note, "note") for note in list_notes(report)),
        Paragraph("Look at next:" if steps else ""),
        Bullets(steps),
    ]


def print_report(
    report: ComparisonReport,
    stream: TextIO,
    *,
    width: int | None = None,
    full: bool = False,
    notes: bool = True,
    lines_after: int = 0,
) -> None:
    """Print the verdict, the table of the headline measures, and what to look at next.

    Args:
        report: The report.
        stream: The output; colours and bold text are used if it is a terminal.
        width: Characters per line; by default the width of the terminal, at most 100.
        full: Print all measures, notes and sections, on any number of lines.
        notes: Print what to look at next.
        lines_after: The number of lines that the caller prints afterwards. Together, there are at
            most :data:`MOST_LINES` lines without ``full``; lines that do not fit are counted.
    """
    console, room = make_console(stream, width), MOST_LINES - lines_after
    tables = _tables(report, report.measure_names) if full else _fit_tables(console, report)
    blocks = [*_result(report), Paragraph(describe_dataset(report), "small"), *tables]
    blocks += _list_notes(report) * notes
    if full and isinstance(report, BenchmarkReport):
        blocks += (part for part in report_sections(report) if part.key not in _NOT_PRINTED)
    elif full:
        blocks += _differences(report)
    lines = [line for block in blocks for line in block_lines(console, block, folds=True)]
    if not full and len(lines) > room:
        lines[room - 1 :] = [f"… {len(lines) - room + 1} more lines: --all"]
    stream.write("".join(f"{line}\n" for line in lines))


def _fit_tables(console: Console, report: ComparisonReport) -> list[Block]:
    """Return the headline measures; if they are too wide, with modes as rows, the best first."""
    measures, baselines = report.headline_measures, baselines_of(report)
    is_small = not baselines and len(report.modes) <= MOST_COLUMNS
    if is_small and table_width(console, headline_table(report, measures)) <= console.width:
        return _tables(report, measures)
    modes = best_first(report)[:_MOST_MODES]
    more = len(report.modes) - len({*modes, *baselines})
    return [
        differences_table(report, measures, modes),
        Paragraph(f"… {plural(more, f'more {report.setup.noun}')}: --all" if more else ""),
        *(
            Paragraph(line, "small")
            for line in explain(report, measures, {}, intervals=not baselines)
        ),
    ]


def list_notes(report: ComparisonReport) -> list[str]:
    """Return the notes on the report and on its modes; modes with equal notes share one."""
    if not isinstance(report, BenchmarkReport):
        return []
    notes = [
        f"{mode.label} ({mode.status}) was neither scored nor compared."
        for mode in report.unscored.values()
    ]
    labels_of: dict[str, list[str]] = {}
    for result in report.modes.values():
        state = result.diagnostics.status if result.status == "ok" else result.status
        text = f"{'' if state == 'complete' else f' ({state})'}: "
        if result.diagnostics.notes:
            text += "; ".join(result.diagnostics.notes)
            labels_of.setdefault(text, []).append(result.label)
    for text, labels in labels_of.items():
        notes.append(f"{join_names(labels, f'{report.setup.noun}s', 3)}{text}.")
    return [*notes, *report.notes]


def report_sections(report: BenchmarkReport) -> list[Fold]:
    """Return the sections of a report; those that it has nothing for are empty."""
    manifest, modes, names = report.manifest, report.modes, report.measure_names
    labels = {mode: f"{result.label}: " for mode, result in modes.items()}
    diagnosis = [
        f"{labels.get(item.mode or '', '')}{item.observed}. This suggests: {item.suggests}."
        for item in report.diagnosis
    ]
    targets = []
    for name in names:
        levels = {result.label: result.measures[name].target for result in modes.values()}
        states = {label: describe_status(level) for label, level in levels.items() if level}
        targets += [{"Metric": name, **states}] * bool(states)
    definitions = table_of(
        {
            "Metric": name,
            "Definition": f"{what.formula}; gain: {what.gain}; divided by: {what.denominator}",
            "Relevant from grade": what.relevance_level,
            "Computed by": what.provider,
        }
        for name, figure in next(iter(modes.values())).measures.items()
        for what in [figure.definition]
    )
    settings = table_of(
        {"Setting": name, "Value": json.dumps(value, ensure_ascii=False)}
        for name, value in manifest.config.items()
    )
    how = Paragraph(
        "benchmark run --config makes this report again, with these settings as a file and "
        f"version {manifest.packages.get('trectools-plus')}. SHA-256: {manifest.config_hash}."
    )
    has_others = {*names} > {*report.headline_measures}
    return [
        Fold(f"All {len(names)} measures", [headline_table(report, names)] * has_others, "others"),
        Fold("Targets", [table_of(targets)], "targets"),
        Fold("Paired differences", _differences(report), "differences"),
        Fold("Groups of queries", _strata(report), "strata"),
        Fold("Diagnosis", [Bullets(diagnosis)], "diagnosis"),
        Fold(f"Queries that fail in every {report.setup.noun}", _failing(report), "failing"),
        Fold("Diagnostics", _runs(report), "runs"),
        Fold("Definitions", [definitions], "definitions"),
        Fold("Settings", [how, settings], "settings"),
        Fold(CLAIMS_TITLE, [Bullets(list_claims(report))], "claims"),
    ]


def _differences(report: ComparisonReport) -> list[Block]:
    """Return differences with intervals, tests and groups, the headline measures first."""
    order = [*report.headline_measures, *report.measure_names]
    entries = sorted(report.comparisons, key=lambda entry: order.index(entry.measure))
    if not entries:
        return []
    noun, queries = report.setup.noun, report.setup.queries
    label_of = {mode: result.label for mode, result in report.modes.items()}
    rows = table_of(
        {
            f"{noun.capitalize()}s": f"{label_of[pair.contrast]} − {label_of[pair.baseline]}",
            **difference_row(pair, queries),
        }
        for pair in entries[:_MOST_PAIRS]
    )
    groups = [
        f"{measure}: {join_names([label_of[mode] for mode in group], f'{noun}s', 8)}"
        for measure in report.headline_measures
        for group in report.groups.get(measure, [])
        if len(group) > 1
    ]
    return [
        rows,
        Paragraph(
            f"Δ: first minus second {noun}, query by query. *: significant. W/T/L: queries won, "
            "tied, lost. d_z: mean divided by standard deviation of the differences. "
            f"{describe_difference_intervals(entries[0])} {method_line(report)} Nothing corrects "
            "for the number of measures, so choose one measure before looking at the results.",
            "small",
        ),
        _more(len(entries) - _MOST_PAIRS),
        Paragraph(f"Groups of {noun}s without a significant difference:" if groups else ""),
        Bullets(groups),
    ]


def _more(further: int) -> Paragraph:
    return Paragraph(f"{further:,} more are in the JSON report." if further > 0 else "")


def _strata(report: BenchmarkReport) -> list[Block]:
    """Return the primary measure by the values of each query field."""
    blocks: list[Block] = []
    for field, values in report.strata.items():
        rows = []
        for value, modes in values.items():
            figures = [modes.get(mode, {}).get(report.primary_measure) for mode in report.modes]
            queries = max((figure.n for figure in figures if figure), default=0)
            cells = (mean_cell(figure, queries) if figure else "–" for figure in figures)
            rows.append((f"{value} ({queries:,})", *cells))
        table = TextTable.of([field, *(result.label for result in report.modes.values())], rows)
        blocks.append(fold(report, table, f" by {field}"))
    note = (
        f"{report.primary_measure}: mean with its {report.confidence * 100:g}% interval. In "
        "brackets: the number of queries. The other measures are in BenchmarkReport.json."
    )
    return [*blocks, Paragraph(note if blocks else "", "small")]


def _failing(report: BenchmarkReport) -> list[Block]:
    noun, failing = report.setup.noun, report.failing_queries
    rows = []
    for query in failing[:MOST_QUERIES]:
        row = {"Query": query.query_id, "Text": visible(query.text or "–", _LONGEST_TEXT)}
        for mode, result in report.modes.items():
            rank = query.first_relevant_rank[mode]
            row[f"First relevant, {result.label}"] = "not found" if rank is None else f"rank {rank}"
        rows.append(row)
    text = Paragraph(
        f"{len(failing):,} of {plural(report.manifest.dataset.queries, 'query', 'queries')} score "
        f"0 on {report.primary_measure} in every {noun}. The rank of the first relevant document "
        f"shows whether a {noun} found it too far down or not at all."
    )
    return [text, table_of(rows), _more(len(failing) - len(rows))] if failing else []


def _runs(report: BenchmarkReport) -> list[Block]:
    """Return sizes and gaps of every mode."""
    rows, noun = [], report.setup.noun.capitalize()
    for result in report.modes.values():
        sizes = result.diagnostics
        shares = (f"{share:.1%} ({n})" for n, share in sizes.judged.items() if share is not None)
        rows.append(
            {
                noun: result.label,
                "Queries": result.run.queries,
                "Results": result.run.results,
                "Missing": len(sizes.missing_queries),
                "Shallow": len(sizes.shallow_queries),
                "Judged": next(shares, "–"),
                "Without relevant": len(sizes.queries_without_relevant),
            }
        )
    reading = Paragraph(
        "Missing: queries without results. Shallow: queries with fewer results than the deepest "
        "cutoff. Without relevant: judged queries without a relevant document "
        f"({report.manifest.averaging}).",
        "small",
    )
    return [table_of(rows), reading]


def claim_lines(manifest: BaseManifest, further: Mapping[str, object]) -> list[str]:
    """Return lines of the facts of a manifest that nobody can derive, and of further facts."""
    facts = {
        "Created": manifest.created_at,
        "Command": manifest.command or "called from Python",
        "Machine": f"{manifest.python} on {manifest.platform}",
        **{f"Package {name}": version for name, version in manifest.packages.items()},
        **further,
    }
    return [f"{name}: {fact}" for name, fact in facts.items() if fact is not None]


def list_claims(report: BenchmarkReport) -> list[str]:
    """Return what the writer of a report states and ``verify`` cannot derive, a line each."""
    manifest = report.manifest
    facts = {
        "Experiment": manifest.experiment_id,
        "Limit of threads of matrix products": manifest.blas_threads,
        "Version of the dataset": manifest.dataset.version,
        "Documents": manifest.dataset.documents,
        **{mode.label: mode.reason for mode in report.unscored.values()},
        **{f"Index of {mode}": key for mode, key in manifest.index_snapshots.items()},
        **{
            f"Model {role}": f"{model.path} {model.sha256}"
            for role, model in manifest.models.items()
        },
    }
    claims = claim_lines(manifest, facts)
    findings = [("the data", manifest.dataset.findings)]
    for result in report.modes.values():
        findings.append((result.label, result.diagnostics.findings))
        if result.run.source is not None:
            claims.append(f"Original of {result.label}: {result.run.source.path}")
        claims.append(f"Ties of {result.label}, as fetched or given: {result.run.ties.pairs:,}")
        if (ms := result.latency_ms) is not None:
            timed = "" if ms.queries is None else f" of {ms.queries:,} timed queries"
            claims.append(
                f"Latency of {result.label}, ms per query{timed}: mean {ms.mean:,.2f}, "
                f"p50 {ms.p50:,.2f}, p95 {ms.p95:,.2f}, p99 {ms.p99:,.2f}"
            )
    # The limit of the depth, which R161 is about, depends on the task.
    return claims + [
        f"Finding on {label}: {'note' if item.code == 'R161' else item.severity} {item.code}: "
        f"{item.message}"
        for label, items in findings
        for item in items
    ]
