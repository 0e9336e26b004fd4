"""The report of a benchmark as blocks: the result first, then sections."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from trectools_plus.benchmark.report import (
    BenchmarkReport,
    StratumResult,
)
from trectools_plus.benchmark.run.targets import describe_status
from trectools_plus.display import Cell, TextTable
from trectools_plus.reporting.comparison import (
    ComparisonTable,
    describe_dataset,
    fold,
    report_table,
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
    MOST_QUERIES,
    choose_comparisons,
    denominator_line,
    describe_difference_intervals,
    group_lines,
    join_labels,
    list_claims,
    list_hashes,
    list_stratum,
    method_line,
    name_difference,
    name_interval,
    other_name,
    show,
    show_ci,
    show_p,
)
from trectools_plus.text import make_console, plural, visible

if TYPE_CHECKING:
    from rich.console import Console

MOST_LINES = 40
"""The greatest number of lines of a report on the terminal, unless everything is printed."""
_LEAST_MODES = 3
"""At least so many modes are shown, however little room there is."""
_LEAST_NOTES = 6
"""Lines for notes below a table of modes that does not show all modes."""
_LONGEST_TEXT = 120
_NOT_PRINTED = ("others", "runs", "definitions", "provenance", "claims")
"""Sections that the terminal does not show; they are in files."""


def render_markdown(report: BenchmarkReport) -> str:
    """Return the report as GitHub-flavoured Markdown: title, verdict and headline table first.

    Long sections are collapsed.

    Args:
        report: The report.
    """
    return markdown([*_result(report), *_tables(report, report.headline_measures, notes=True),
                     *report_sections(report)])  # fmt: skip


def _result(report: BenchmarkReport) -> list[Block]:
    return [
        Heading(f"Benchmark of {describe_dataset(report)}", 1),
        Paragraph("" if report.verdict is None else report.verdict.text, "result"),
        Paragraph(method_line(report), "small"),
    ]


def _tables(report: BenchmarkReport, measures: Sequence[str], *, notes: bool) -> list[Block]:
    """Return the means, the differences from baselines, how to read them, and notes."""
    comparison = report_table(report, measures)
    table = fold(comparison.by_measure(), len(comparison.labels), report.noun.capitalize())
    primary = report.primary_measure
    against = [comparison.by_mode(primary)] if comparison.differences.get(primary) else []
    steps = [] if report.verdict is None or not notes else report.verdict.next_steps
    return [
        table,
        *against,
        *(Paragraph(line, "small") for line in comparison.legend),
        *(Paragraph(note, "note") for note in list_notes(report) if notes),
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
            most :data:`MOST_LINES` lines without ``full``: modes and notes that do not fit are
            counted.
    """
    console = make_console(stream, width)
    lines = _lines(console, [*_result(report), Paragraph(describe_dataset(report), "small")])
    if full:
        sections = (one for one in report_sections(report) if one.key not in _NOT_PRINTED)
        lines += _lines(console, _tables(report, report.measure_names, notes=notes))
        lines += _lines(console, sections)
    else:
        most = MOST_LINES - lines_after
        lines += _fit_table(console, report, most - len(lines) - _LEAST_NOTES * notes)
        lines += _fit_notes(console, report, most - len(lines)) if notes else []
    stream.write("".join(f"{line}\n" for line in lines))


def _lines(console: Console, blocks: Iterable[Block]) -> list[str]:
    return [line for block in blocks for line in block_lines(console, block, folds=True)]


def _fit_table(console: Console, report: BenchmarkReport, room: int) -> list[str]:
    """Return the headline measures with their legend; modes that do not fit are counted.

    If the table of measures by modes is too wide, modes are rows, the best first.
    """
    primary, measures = report.primary_measure, report.headline_measures
    comparison = report_table(report, measures)
    table, against = comparison.by_measure(), comparison.differences.get(primary, ())
    if not against and table_width(console, table) <= console.width:
        return _lines(console, [table, *(Paragraph(line, "small") for line in comparison.legend)])
    legend = comparison.paper_notes[:-1]  # without the method, which is above
    if not against:
        letters = "--all" if comparison.letters() else "--format json"
        legend = [comparison.legend[0], denominator_line(report, comparison.cells)]
        legend += [f"Letters of significance: {letters}."] if comparison.test else []
    explained = _lines(console, [Paragraph(line, "small") for line in legend])
    order, others = _best_first(report, comparison), [name for name in measures if name != primary]
    for count in range(min(len(order), max(_LEAST_MODES, room - len(explained))), -1, -1):
        rest = len(order) - count
        more = f"… {plural(rest, f'more {report.noun}')}: --all" if rest else ""
        shown = comparison.by_mode(primary, others, order[:count])
        lines = _lines(console, [shown, Paragraph(more)])
        if len(lines) + len(explained) <= room or count <= _LEAST_MODES:
            return lines + explained
    return explained


def _best_first(report: BenchmarkReport, comparison: ComparisonTable) -> list[str]:
    """Return the modes but baselines by their primary mean; unchanged if they are not ranked."""
    measure = report.primary_measure
    modes = [mode for mode in comparison.labels if mode not in comparison.baselines]
    if measure in report.unranked:
        return modes
    sign = -1.0 if report.higher_is_better(measure) else 1.0
    means = {mode: report.modes[mode].measures[measure].mean for mode in modes}
    undefined = float("inf")
    return sorted(
        modes, key=lambda mode: undefined if (mean := means[mode]) is None else sign * mean
    )


def _fit_notes(console: Console, report: BenchmarkReport, room: int) -> list[str]:
    """Return the notes that fit into so many lines, and the number of the others."""
    steps = [] if report.verdict is None else report.verdict.next_steps
    notes = [*list_notes(report), *steps]
    lines = ["", "Look at next:"]
    for place, note in enumerate(notes):
        shown = _lines(console, [Bullets([note])])
        others = len(notes) - place
        if len(lines) + len(shown) + (others > 1) > room:
            return [*lines, f"- {plural(others, 'more note')}: --all"] if len(lines) < room else []
        lines += shown
    return lines if notes else []


def list_notes(report: BenchmarkReport) -> list[str]:
    """Return the notes on the report and on its modes; modes with equal notes share one."""
    notes = []
    for mode in report.unscored.values():
        state = "failed" if mode.status == "failed" else f"is {mode.status}"
        notes.append(f"{mode.label} {state} and was neither scored nor compared.")
    groups: dict[tuple[str, str], list[str]] = {}
    for result in report.modes.values():
        incomplete = "incomplete" if result.diagnostics.status == "incomplete" else ""
        state = incomplete if result.status == "ok" else result.status
        if result.diagnostics.notes:
            text = "; ".join(result.diagnostics.notes)
            groups.setdefault((state, text), []).append(result.label)
    for (state, text), labels in groups.items():
        verb = f" {'is' if len(labels) == 1 else 'are'} {state}" if state else ""
        notes.append(f"{join_labels(labels, noun=report.noun)}{verb}: {text}.")
    return [*notes, *report.notes]


def report_sections(report: BenchmarkReport) -> list[Fold]:
    """Return the sections of a report; those that it has nothing for are empty."""
    labels = {mode: f"{result.label}: " for mode, result in report.modes.items()}
    diagnosis = [
        f"{labels.get(item.mode or '', '')}{item.observed}. This suggests: {item.suggests}."
        for item in report.diagnosis
    ]
    shown, others = report.measure_names, list[Block]()
    if set(shown) - set(report.headline_measures):
        table = report_table(report, shown).by_measure()
        others.append(fold(table, len(labels), report.noun.capitalize()))
    return [
        Fold(f"All {len(shown)} measures", others, "others"),
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


def _targets(report: BenchmarkReport) -> list[Block]:
    rows = []
    for measure in report.measure_names:
        targets = [result.measures[measure].target for result in report.modes.values()]
        if (first := targets[0]) is not None:
            high = "" if first.baseline_high is None else f"–{first.baseline_high:g}"
            typical = "–" if first.baseline is None else f"{first.baseline:g}{high}"
            strong = "–" if first.strong is None else f"≥ {first.strong:g}"
            states = ("–" if target is None else describe_status(target) for target in targets)
            rows.append([measure, typical, f"≥ {first.competitive:g}", strong, *states])
    labels = [result.label for result in report.modes.values()]
    header = ["Metric", "Typical baseline", "Competitive", "Strong", *labels]
    return [TextTable.of(header, rows)]


def _differences(report: BenchmarkReport) -> list[Block]:
    """Return differences with intervals, tests and groups."""
    entries, noun = choose_comparisons(report), report.noun
    if not entries:
        return []
    header = ["Difference", "Metric", "Mean", name_interval(entries[0]), "p", "Adjusted p"]
    header += ["Significant", "d_z", "Detectable", "Won/tied/lost"]
    rows = [
        [
            name_difference(report, entry),
            entry.measure,
            show(entry.difference, "+"),
            show_ci(entry.ci, "+", decimals=4) or "–",
            show_p(entry.p),
            show_p(entry.p_adjusted),
            "yes" if entry.significant else "no",
            "–" if entry.effect_size is None else f"{entry.effect_size:+.2f}",
            show(entry.detectable_difference),
            f"{entry.wins:,} / {entry.ties:,} / {entry.losses:,}",
        ]
        for entry in entries
    ]
    reading = (
        f"Each row compares two {noun}s query by query. Won, tied and lost count the queries on "
        f"which the first {noun} is better, equal or worse. d_z is the mean difference divided by "
        f"the standard deviation of the differences. {DETECTABLE} "
        f"{describe_difference_intervals(entries[0])} {method_line(report)} Nothing corrects for "
        "the number of measures, so choose one measure before looking at the results."
    )
    groups = group_lines(report)
    title = f"{noun.capitalize()}s without a significant difference, best group first:"
    return [
        TextTable.of(header, rows),
        Paragraph(reading, "small"),
        _more(len(report.comparisons) - len(entries)),
        Paragraph(title if groups else ""),
        Bullets(groups),
    ]


def _more(further: int) -> Paragraph:
    return Paragraph(f"{further:,} more are in the JSON report." if further else "")


def _strata(report: BenchmarkReport) -> list[Block]:
    """Return the primary measure by the values of each query field."""
    measure, labels = report.primary_measure, [result.label for result in report.modes.values()]
    blocks: list[Block] = []
    for field, values in report.strata.items():
        rows: list[list[str | Cell]] = [
            [f"{value} ({queries:,})", *(_stratum(result, queries) for result in results)]
            for value, queries, results in list_stratum(report, field, measure)
        ]
        if values:
            table = TextTable.of([field, *labels], rows)
            blocks.append(fold(table, len(labels), f"{report.noun.capitalize()} by {field}"))
    note = (
        f"{measure}: mean with its {report.confidence * 100:g}% interval. In brackets: the number "
        "of queries with the value. Queries without a value are in no group. The other measures "
        "are in BenchmarkReport.html and BenchmarkReport.json."
    )
    return [*blocks, Paragraph(note if blocks else "", "small")]


def _stratum(result: StratumResult | None, queries: int) -> Cell:
    if result is None:
        return Cell("–")
    count = f"n = {result.n:,}" if result.mean is not None and result.n != queries else ""
    return Cell(show(result.mean), detail=show_ci(result.ci), count=count)


def _failing(report: BenchmarkReport) -> list[Block]:
    noun, measure, failing = report.noun, report.primary_measure, report.failing_queries
    if not report.higher_is_better(measure):
        return []
    if not failing:
        none = f"None: on every query, at least one {noun} scores above 0 on {measure}."
        return [Paragraph(none)]
    rows = []
    for query in failing[:MOST_QUERIES]:
        ranks = (query.first_relevant_rank[mode] for mode in report.modes)
        shown = ("not found" if rank is None else f"rank {rank}" for rank in ranks)
        rows.append([query.query_id, _shorten(query.text), *shown])
    labels = [f"First relevant, {result.label}" for result in report.modes.values()]
    text = (
        f"{len(failing):,} of {plural(report.manifest.dataset.queries, 'query', 'queries')} score "
        f"0 on {measure} in every {noun}. The rank of the first relevant document shows whether a "
        f"{noun} found it too far down or not at all."
    )
    table = TextTable.of(["Query", "Text", *labels], rows)
    return [Paragraph(text), table, _more(len(failing) - len(rows))]


def _shorten(text: str | None) -> str:
    return visible(" ".join((text or "–").split()), _LONGEST_TEXT)


def _runs(report: BenchmarkReport) -> list[Block]:
    """Return sizes and gaps of every mode."""
    rows = []
    for result in report.modes.values():
        sizes = result.diagnostics
        shares = {n: share for n, share in sizes.judged.items() if share is not None}
        rows.append(
            [
                result.label,
                sizes.status if result.status == "ok" else result.status,
                f"{result.run.queries:,}",
                f"{result.run.results:,}",
                f"{len(sizes.missing_queries):,}",
                f"{len(sizes.shallow_queries):,}",
                next((f"{share:.1%} ({n})" for n, share in shares.items()), "–"),
            ]
        )
    for mode in report.unscored.values():
        answered = mode.queries - len(mode.failed_queries)
        rows.append([mode.label, f"{mode.status}, not scored", f"{answered:,}", *["–"] * 4])
    header = [report.noun.capitalize(), "Status", "Queries", "Results", "Missing", "Shallow"]
    reading = (
        "Missing: queries of the means without results. Shallow: queries with fewer results than "
        "the deepest cutoff, although there are more documents."
    )
    without = next(iter(report.modes.values())).diagnostics.queries_without_relevant
    is_zero = report.manifest.averaging.no_relevant == "zero"
    listed = ", ".join(without[:MOST_QUERIES]) + (" …" if len(without) > MOST_QUERIES else "")
    judged = (
        f"Judged queries without a relevant document, "
        f"{'which count 0 in the means' if is_zero else 'omitted from every mean'}: "
        f"{plural(len(without), 'query', 'queries')} ({listed})."
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
        also = other_name(name, what)
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
    return [
        Code("\n".join(commands)),
        Paragraph(f"Seed {manifest.seed}."),
        TextTable.of(["What", "SHA-256"], list_hashes(report)),
        Paragraph("The configuration with all defaults, valid as benchmark.yaml:"),
        Code(json.dumps(manifest.config, indent=2, ensure_ascii=False), "json"),
    ]
