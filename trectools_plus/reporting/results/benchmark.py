"""The report of a benchmark as blocks: the result first, then sections."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from trectools_plus.benchmark.report import BenchmarkReport, StratumResult
from trectools_plus.benchmark.report.verdict import baselines_of
from trectools_plus.benchmark.run.targets import describe_status
from trectools_plus.display import Cell, TextTable
from trectools_plus.reporting.comparison import (
    MOST_COLUMNS,
    best_first,
    describe_dataset,
    differences_table,
    explain,
    fold,
    headline_table,
    name_letters,
)
from trectools_plus.reporting.document import (
    Block,
    Bullets,
    Code,
    Fold,
    Heading,
    Paragraph,
    block_lines,
    markdown,
    table_width,
)
from trectools_plus.reporting.wording import (
    CLAIMS_TITLE,
    DETECTABLE,
    MOST_PAIRS,
    MOST_QUERIES,
    describe_difference_intervals,
    group_lines,
    list_claims,
    method_line,
    name_interval,
    show,
    show_ci,
    show_p,
    show_wins,
)
from trectools_plus.text import join_names, make_console, plural, visible

if TYPE_CHECKING:
    from rich.console import Console

MOST_LINES = 40
"""The greatest number of lines of a report on the terminal, unless everything is printed."""
_MOST_MODES = 12
"""The greatest number of modes in a table of modes on the terminal."""
_NAMED = 3
"""Of more modes, a sentence gives only the number."""
_LONGEST_TEXT = 120
_NOT_PRINTED = ("others", "runs", "definitions", "provenance", "claims")
"""Sections that the terminal does not show; they are in files."""


def render_markdown(report: BenchmarkReport) -> str:
    """Return the report as GitHub-flavoured Markdown: title, verdict and headline table first.

    Long sections are collapsed.

    Args:
        report: The report.
    """
    tables, notes = _tables(report, report.headline_measures), _list_notes(report)
    return markdown([*_result(report), *tables, *notes, *report_sections(report)])


def _result(report: BenchmarkReport) -> list[Block]:
    return [
        Heading(f"Benchmark of {describe_dataset(report)}", 1),
        Paragraph("" if report.verdict is None else report.verdict.text, "result"),
        Paragraph(method_line(report), "small"),
    ]


def _tables(report: BenchmarkReport, measures: Sequence[str]) -> list[Block]:
    """Return the means, the differences from baselines, and how to read them."""
    against, best = list[Block](), list[str]()
    if baselines_of(report):
        against = [differences_table(report, report.primary_measure)]
    elif len(report.modes) > 1:
        best = [f"*: significantly ahead of every other {report.noun}; n.s.: not."]
    lines = [*explain(report, measures, name_letters(report, measures)), *best]
    table = fold(report, headline_table(report, measures))
    return [table, *against, *(Paragraph(line, "small") for line in lines)]


def _list_notes(report: BenchmarkReport) -> list[Block]:
    """Return notes, and what to look at next."""
    steps = [] if report.verdict is None else report.verdict.next_steps
    return [
        *(Paragraph(note, "note") for note in list_notes(report)),
        Paragraph("Look at next:" if steps else ""),
        Bullets(steps),
    ]


def print_report(
    report: BenchmarkReport,
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
    console = make_console(stream, width)
    tables = _tables(report, report.measure_names) if full else _fit_tables(console, report)
    blocks = [*_result(report), Paragraph(describe_dataset(report), "small"), *tables]
    blocks += _list_notes(report) if notes else []
    if full:
        blocks += (one for one in report_sections(report) if one.key not in _NOT_PRINTED)
    lines = [line for block in blocks for line in block_lines(console, block, folds=True)]
    room = MOST_LINES - lines_after
    if not full and len(lines) > room:
        lines[room - 1 :] = [f"… {len(lines) - room + 1} more lines: --all"]
    stream.write("".join(f"{line}\n" for line in lines))


def _fit_tables(console: Console, report: BenchmarkReport) -> list[Block]:
    """Return the headline measures; if they are too wide, with modes as rows, the best first."""
    measures, baselines = report.headline_measures, baselines_of(report)
    is_small = not baselines and len(report.modes) <= MOST_COLUMNS
    if is_small and table_width(console, headline_table(report, measures)) <= console.width:
        return _tables(report, measures)
    others = [name for name in measures if name != report.primary_measure]
    modes = best_first(report)[:_MOST_MODES]
    more = len({*report.modes} - {*modes, *baselines})
    lines = explain(report, measures, {}, intervals=not baselines)
    return [
        differences_table(report, report.primary_measure, others, modes),
        Paragraph(f"… {plural(more, f'more {report.noun}')}: --all" if more else ""),
        *(Paragraph(line, "small") for line in lines),
    ]


def list_notes(report: BenchmarkReport) -> list[str]:
    """Return the notes on the report and on its modes; modes with equal notes share one."""
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
        notes.append(f"{join_names(labels, f'{report.noun}s', _NAMED)}{text}.")
    return [*notes, *report.notes]


def report_sections(report: BenchmarkReport) -> list[Fold]:
    """Return the sections of a report; those that it has nothing for are empty."""
    labels = {mode: f"{result.label}: " for mode, result in report.modes.items()}
    diagnosis = [
        f"{labels.get(item.mode or '', '')}{item.observed}. This suggests: {item.suggests}."
        for item in report.diagnosis
    ]
    names, others = report.measure_names, list[Block]()
    if {*names} - {*report.headline_measures}:
        others.append(fold(report, headline_table(report, names)))
    return [
        Fold(f"All {len(names)} measures", others, "others"),
        Fold("Targets", _targets(report), "targets"),
        Fold("Paired differences", _differences(report), "differences"),
        Fold("Groups of queries", _strata(report), "strata"),
        Fold("Diagnosis", [Bullets(diagnosis)], "diagnosis"),
        Fold(f"Queries that fail in every {report.noun}", _failing(report), "failing"),
        Fold("Diagnostics", _runs(report), "runs"),
        Fold("Definitions", _definitions(report), "definitions"),
        Fold("How to reproduce", _reproduction(report), "provenance"),
        Fold(CLAIMS_TITLE, [Bullets(list_claims(report))], "claims"),
    ]


def _labels(report: BenchmarkReport) -> list[str]:
    return [result.label for result in report.modes.values()]


def _targets(report: BenchmarkReport) -> list[Block]:
    rows = []
    for measure in report.measure_names:
        targets = [result.measures[measure].target for result in report.modes.values()]
        if (first := targets[0]) is not None:
            levels = (first.baseline, first.competitive, first.strong)
            shown = ("–" if level is None else f"{level:g}" for level in levels)
            states = ("–" if target is None else describe_status(target) for target in targets)
            rows.append([measure, *shown, *states])
    header = ["Metric", "Typical baseline", "Competitive", "Strong", *_labels(report)]
    return [TextTable.of(header, rows)]


def _differences(report: BenchmarkReport) -> list[Block]:
    """Return differences with intervals, tests and groups; of very many, those of best modes."""
    order = [*report.headline_measures, *report.measure_names]
    entries = sorted(report.comparisons, key=lambda entry: order.index(entry.measure))
    if len(entries) > MOST_PAIRS:
        best = report.best_mode
        entries = [one for one in entries if best[one.measure] in (one.baseline, one.contrast)]
    shown, queries = entries[:MOST_PAIRS], report.manifest.dataset.queries
    if not shown:
        return []
    header = ["Difference", "Metric", "Mean", name_interval(shown[0]), "p", "Adjusted p"]
    header += ["Significant", "d_z", "Detectable", "Won/tied/lost"]
    rows = [
        [
            f"{report.modes[entry.contrast].label} − {report.modes[entry.baseline].label}",
            f"{entry.measure} (n = {entry.n:,})" if entry.n != queries else entry.measure,
            show(entry.difference, "+"),
            show_ci(entry.ci, "+", decimals=4) or "–",
            show_p(entry.p),
            show_p(entry.p_adjusted),
            "yes" if entry.significant else "no",
            show(entry.effect_size, "+", decimals=2),
            show(entry.detectable_difference),
            show_wins(entry),
        ]
        for entry in shown
    ]
    reading = (
        f"Each row compares two {report.noun}s query by query. d_z is the mean difference divided "
        f"by the standard deviation of the differences. {DETECTABLE} "
        f"{describe_difference_intervals(shown[0])} {method_line(report)} Nothing corrects for "
        "the number of measures, so choose one measure before looking at the results."
    )
    groups = group_lines(report)
    title = f"{report.noun.capitalize()}s without a significant difference, best group first:"
    return [
        TextTable.of(header, rows),
        Paragraph(reading, "small"),
        _more(len(report.comparisons) - len(shown)),
        Paragraph(title if groups else ""),
        Bullets(groups),
    ]


def _more(further: int) -> Paragraph:
    return Paragraph(f"{further:,} more are in the JSON report." if further else "")


def _strata(report: BenchmarkReport) -> list[Block]:
    """Return the primary measure by the values of each query field."""
    blocks: list[Block] = []
    for field, values in report.strata.items():
        rows: list[list[str | Cell]] = []
        for value, modes in values.items():
            results = [modes.get(mode, {}).get(report.primary_measure) for mode in report.modes]
            queries = max((result.n for result in results if result is not None), default=0)
            rows.append([f"{value} ({queries:,})", *(_stratum(one, queries) for one in results)])
        table = TextTable.of([field, *_labels(report)], rows)
        blocks.append(fold(report, table, f" by {field}"))
    note = (
        f"{report.primary_measure}: mean with its {report.confidence * 100:g}% interval. In "
        "brackets: the number of queries with the value. The other measures are in "
        "BenchmarkReport.html and BenchmarkReport.json."
    )
    return [*blocks, Paragraph(note if blocks else "", "small")]


def _stratum(result: StratumResult | None, queries: int) -> Cell:
    if result is None:
        return Cell("–")
    count = f"(n = {result.n:,})" if result.mean is not None and result.n != queries else ""
    return Cell(show(result.mean), detail=show_ci(result.ci), count=count)


def _failing(report: BenchmarkReport) -> list[Block]:
    noun, failing = report.noun, report.failing_queries
    rows = []
    for query in failing[:MOST_QUERIES]:
        ranks = (query.first_relevant_rank[mode] for mode in report.modes)
        shown = ("not found" if rank is None else f"rank {rank}" for rank in ranks)
        rows.append([query.query_id, visible(query.text or "–", _LONGEST_TEXT), *shown])
    text = (
        f"{len(failing):,} of {plural(report.manifest.dataset.queries, 'query', 'queries')} score "
        f"0 on {report.primary_measure} in every {noun}. The rank of the first relevant document "
        f"shows whether a {noun} found it too far down or not at all."
    )
    labels = [f"First relevant, {label}" for label in _labels(report)]
    table = TextTable.of(["Query", "Text", *labels], rows)
    return [Paragraph(text), table, _more(len(failing) - len(rows))] if failing else []


def _runs(report: BenchmarkReport) -> list[Block]:
    """Return sizes and gaps of every mode."""
    rows = []
    for result in report.modes.values():
        sizes = result.diagnostics
        shares = (f"{share:.1%} ({n})" for n, share in sizes.judged.items() if share is not None)
        numbers = (
            *(result.run.queries, result.run.results),
            *(len(sizes.missing_queries), len(sizes.shallow_queries)),
        )
        status = sizes.status if result.status == "ok" else result.status
        shown = (f"{number:,}" for number in numbers)
        rows.append([result.label, status, *shown, next(shares, "–")])
    header = [report.noun.capitalize(), "Status", "Queries", "Results", "Missing", "Shallow"]
    reading = (
        "Missing: queries of the means without results. Shallow: queries with fewer results than "
        "the deepest cutoff, although there are more documents."
    )
    without = next(iter(report.modes.values())).diagnostics.queries_without_relevant
    judged = (
        f"Judged queries without a relevant document ({report.manifest.averaging}): "
        f"{join_names(without, 'queries', MOST_QUERIES)}."
    )
    return [
        TextTable.of([*header, "Judged"], rows),
        Paragraph(reading, "small"),
        Paragraph(judged if without else ""),
    ]


def _definitions(report: BenchmarkReport) -> list[Block]:
    lines = []
    measures = next(iter(report.modes.values())).measures
    for name, figures in measures.items():
        what = figures.definition
        also = next((one for one in (what.name, what.alias) if one not in (None, name)), None)
        call = f"; the same with trec_eval: {what.trec_eval_call}" if what.trec_eval_call else ""
        lines.append(
            f"{name}{f' ({also})' if also else ''}: {what.formula}; gain: {what.gain}; divided by: "
            f"{what.denominator}; relevant from grade {what.relevance_level}; computed by "
            f"{what.provider}{call}."
        )
    some = next(iter(measures.values())).definition
    ties = f"Ties: {some.ties}. Averaged over: {some.averaged_over}"
    return [Bullets(lines), Paragraph(f"{ties}; here {report.manifest.averaging}.")]


def _reproduction(report: BenchmarkReport) -> list[Block]:
    """Return commands, hashes and configuration, without commands that the writer states."""
    manifest = report.manifest
    version = manifest.packages.get("trectools-plus") or "<version>"
    commands = (
        f"pip install trectools_plus-{version}-py3-none-any.whl",
        "trectools-plus benchmark run --config benchmark.yaml",
    )
    data, runs = manifest.dataset, (result.run for result in report.modes.values())
    hashes = [
        *((f"data: {kind} (contents)", digest) for kind, digest in data.contents.items()),
        *((f"file: {file.path}", file.sha256) for file in data.files.values()),
        *((run.path, run.sha256) for run in runs if run.path is not None and run.sha256),
        ("configuration", manifest.config_hash),
    ]
    return [
        Code("\n".join(commands)),
        Paragraph(f"Seed {manifest.seed}."),
        TextTable.of(["What", "SHA-256"], hashes),
        Paragraph("The configuration with all defaults, valid as benchmark.yaml:"),
        Code(json.dumps(manifest.config, indent=2, ensure_ascii=False), "json"),
    ]
