"""The report of a benchmark as blocks: the result first, then sections."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from trectools_plus.benchmark.report import (
    BenchmarkReport,
    ComponentMeasure,
    ComponentResult,
    ModeResult,
    StratumResult,
    TermLabel,
)
from trectools_plus.benchmark.run.targets import describe_status
from trectools_plus.display import Cell, TextTable
from trectools_plus.reporting.comparison import describe_dataset, fold, report_table
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
    MOST_QUERIES,
    choose_comparisons,
    denominator_line,
    describe_detectable,
    describe_difference_intervals,
    equal_line,
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
    show_baseline,
    show_ci,
    show_difference_interval,
    show_level,
    show_p,
    target_lines,
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
"""Sections that the terminal does not show: its table has all measures, the rest is in files."""


def render_markdown(report: BenchmarkReport) -> str:
    """Return the report as GitHub-flavoured Markdown: title, verdict and headline table first.

    Long sections are collapsed.

    Args:
        report: The report.
    """
    comparison = report_table(report, report.headline_measures)
    noun = comparison.noun.capitalize()
    blocks: list[Block] = [
        Heading(f"Benchmark of {comparison.title}", 1),
        *_head(report)[:2],
        fold(comparison.by_measure(), len(comparison.labels), noun),
    ]
    if comparison.differences.get(report.primary_measure):
        blocks.append(comparison.against_baseline(report.primary_measure))
    blocks += [Paragraph(line, "small") for line in (*comparison.legend, equal_line(report))]
    if report.verdict is not None and report.verdict.next_steps:
        blocks += [Paragraph("Look at next:"), Bullets(report.verdict.next_steps)]
    blocks += [Paragraph(note, "note") for note in list_notes(report)]
    return markdown([*blocks, *report_sections(report)])


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
    lines = _lines(console, _head(report))
    if full:
        lines += _lines(console, _everything(report, notes=notes))
    else:
        most = MOST_LINES - lines_after
        lines += _fit_table(console, report, most - len(lines) - _LEAST_NOTES * notes)
        lines += _fit_notes(console, report, most - len(lines)) if notes else []
    stream.write("".join(f"{line}\n" for line in lines))


def _lines(console: Console, blocks: Iterable[Block]) -> list[str]:
    return [line for block in blocks for line in block_lines(console, block, folds=True)]


def _head(report: BenchmarkReport) -> list[Block]:
    return [
        Paragraph("" if report.verdict is None else report.verdict.text, "result"),
        Paragraph(method_line(report), "small"),
        Paragraph(describe_dataset(report), "small"),
    ]


def _everything(report: BenchmarkReport, *, notes: bool) -> list[Block]:
    """Return the tables of all measures, all notes, and the sections."""
    comparison = report_table(report, list(report.shown_measures))
    against = [measure for measure, entries in comparison.differences.items() if entries]
    steps = [*list_notes(report), *list_steps(report)] if notes else []
    return [
        *map(comparison.against_baseline, against),
        comparison.by_measure(),
        *(Paragraph(line, "small") for line in (*comparison.legend, equal_line(report))),
        Paragraph("Look at next:" if steps else ""),
        Bullets(steps),
        *(section for section in report_sections(report) if section.key not in _NOT_PRINTED),
    ]


def _fit_table(console: Console, report: BenchmarkReport, room: int) -> list[str]:
    """Return the headline measures with their legend; modes that do not fit are counted.

    If the table of measures by modes is too wide, modes are rows, the best first.
    """
    comparison = report_table(report, report.headline_measures)
    table = comparison.by_measure()
    against = bool(comparison.differences.get(report.primary_measure))
    if not against and table_width(console, table) <= console.width:
        return _lines(console, [table, *(Paragraph(line, "small") for line in comparison.legend)])
    if against:
        legend = comparison.difference_notes([report.primary_measure])
    else:
        legend = [comparison.note, denominator_line(report, comparison.cells)]
        if comparison.test:
            place = "--all" if comparison.letters() else "--format json"
            legend.append(f"Letters of significance: {place}.")
    explained = _lines(console, [Paragraph(line, "small") for line in legend])
    modes = [mode for mode in comparison.labels if mode not in comparison.baselines]
    order, lines = _best_first(report, modes), list[str]()
    room -= len(explained)
    for count in range(min(len(order), max(_LEAST_MODES, room)), 0, -1):
        some = comparison.brief(report.primary_measure, order[:count])
        rest = len(order) - count
        more = f"… {plural(rest, f'more {report.noun}')}: --all" if rest else ""
        lines = _lines(console, [some, Paragraph(more)])
        if len(lines) <= room or count <= _LEAST_MODES:
            break
    return lines + explained


def _best_first(report: BenchmarkReport, modes: list[str]) -> list[str]:
    """Return the modes by their mean on the primary measure; unchanged if they are not ranked."""
    measure = report.primary_measure
    if measure in report.unranked or report.is_sum(measure):
        return modes
    sign = -1.0 if report.higher_is_better(measure) else 1.0
    means = {mode: report.modes[mode].measures[measure].mean for mode in modes}
    undefined = float("inf")
    return sorted(
        modes, key=lambda mode: undefined if (mean := means[mode]) is None else sign * mean
    )


def _fit_notes(console: Console, report: BenchmarkReport, room: int) -> list[str]:
    """Return the notes that fit into so many lines, and the number of the others."""
    notes = [*list_notes(report), *list_steps(report)]
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
        if result.diagnostics.notes:
            key = _state_of(result), "; ".join(result.diagnostics.notes)
            groups.setdefault(key, []).append(result.label)
    for (state, text), labels in groups.items():
        verb = f" {'is' if len(labels) == 1 else 'are'} {state}" if state else ""
        notes.append(f"{join_labels(labels, noun=report.noun)}{verb}: {text}.")
    return [*notes, *report.notes]


def _state_of(result: ModeResult) -> str:
    if result.status != "ok":
        return result.status
    return "incomplete" if result.diagnostics.status == "incomplete" else ""


def list_steps(report: BenchmarkReport) -> list[str]:
    """Return what to look at next, a sentence or two each."""
    steps = [] if report.verdict is None else report.verdict.next_steps
    near = [_near_sentence(report)] if report.near_misses else []
    return [*steps, *target_lines(report), *near]


def report_sections(report: BenchmarkReport) -> list[Fold]:
    """Return the sections of a report; those that it has nothing for are left out."""
    makers = (
        _other_measures,
        _targets,
        _differences,
        _components,
        _strata,
        _diagnosis,
        _failing,
        _near,
        _runs,
        _definitions,
        _reproduction,
        _claims,
    )
    return [section for make in makers if (section := make(report)) is not None]


def _other_measures(report: BenchmarkReport) -> Fold | None:
    shown = list(report.shown_measures)
    if not set(shown) - set(report.headline_measures):
        return None
    comparison = report_table(report, shown)
    table = fold(comparison.by_measure(), len(report.modes), report.noun.capitalize())
    return Fold(f"All {len(shown)} measures", [table], "others")


def _targets(report: BenchmarkReport) -> Fold | None:
    rows = []
    for measure in report.measure_names:
        targets = [result.measures[measure].target for result in report.modes.values()]
        first = targets[0]
        if first is not None:
            levels = show_level(first, "competitive"), show_level(first, "strong")
            states = ("–" if target is None else describe_status(target) for target in targets)
            rows.append([measure, show_baseline(first), *levels, *states])
    labels = [result.label for result in report.modes.values()]
    header = ["Metric", "Typical baseline", "Competitive", "Strong", *labels]
    lines = map(Paragraph, target_lines(report))
    return Fold("Targets", [TextTable.of(header, rows), *lines], "targets") if rows else None


def _differences(report: BenchmarkReport) -> Fold | None:
    """Return differences with intervals, tests and groups."""
    entries = choose_comparisons(report)
    if not entries:
        return None
    header = ["Difference", "Metric", "Mean", name_interval(entries[0]), "p", "Adjusted p"]
    header += ["Significant", "d_z", "Detectable", "Won/tied/lost"]
    rows = [
        [
            name_difference(report, entry),
            entry.measure,
            show(entry.difference, "+"),
            show_difference_interval(entry),
            show_p(entry.p),
            show_p(entry.p_adjusted),
            "yes" if entry.significant else "no",
            "–" if entry.effect_size is None else f"{entry.effect_size:+.2f}",
            show(entry.detectable_difference),
            f"{entry.wins:,} / {entry.ties:,} / {entry.losses:,}",
        ]
        for entry in entries
    ]
    further = len(report.comparisons) - len(entries)
    noun = report.noun
    reading = (
        f"Each row compares two {noun}s query by query. Won, tied and lost count the queries on "
        f"which the first {noun} is better, equal or worse. d_z is the mean difference divided by "
        f"the standard deviation of the differences. {describe_detectable()} "
        f"{describe_difference_intervals(entries[0])} {method_line(report)} Nothing corrects for "
        "the number of measures, so choose one measure before looking at the results."
    )
    groups = group_lines(report)
    blocks: list[Block] = [TextTable.of(header, rows), Paragraph(reading, "small"), _more(further)]
    if groups:
        title = f"{noun.capitalize()}s without a significant difference, best group first:"
        blocks += [Paragraph(title), Bullets(groups)]
    return Fold("Paired differences", blocks, "differences")


def _more(further: int) -> Paragraph:
    return Paragraph(f"{further:,} more are in the JSON report." if further else "")


def _components(report: BenchmarkReport) -> Fold | None:
    """Return what each component of a fusion contributes."""
    if not report.components:
        return None
    shown = list(report.shown_measures)
    rows: list[list[str | Cell]] = [
        [
            f"{report.modes[one.mode].label} without {component_label(report, one)}",
            *(_contribution(one.measures.get(name)) for name in shown),
        ]
        for one in report.components
    ]
    figures = (figure for one in report.components for figure in one.measures.values())
    family = next((figure.family for figure in figures), "")
    reading = (
        "The fusion of all components minus the fusion without one. Above 0, that component "
        f"raises the measure. With its {100 * report.confidence:g}% interval; *: significant"
        f"{f' ({family})' if family else ''}. The runs are in the folder components."
    )
    table = TextTable.of(["Fusion", *shown], rows)
    title = "What each component contributes"
    return Fold(title, [table, Paragraph(reading, "small")], "components")


def component_label(report: BenchmarkReport, one: ComponentResult) -> str:
    """Return the label of the mode that is the component; without one, the component's name."""
    mode = report.modes.get(one.component)
    return one.component if mode is None else mode.label


def _contribution(figure: ComponentMeasure | None) -> Cell:
    """Return a difference with its interval, and a mark if it is significant."""
    if figure is None or figure.difference is None:
        return Cell("–")
    mark = "*" if figure.significant else ""
    return Cell(show(figure.difference, "+"), detail=show_ci(figure.ci, "+"), marks=mark)


def _strata(report: BenchmarkReport) -> Fold | None:
    """Return the primary measure by the values of each query field."""
    fields = [name for name, values in report.strata.items() if values]
    if not fields:
        return None
    measure = report.primary_measure
    labels = [result.label for result in report.modes.values()]
    blocks: list[Block] = []
    for field in fields:
        rows: list[list[str | Cell]] = [
            [f"{value} ({queries:,})", *(_stratum(result, queries) for result in results)]
            for value, queries, results in list_stratum(report, field, measure)
        ]
        table = TextTable.of([field, *labels], rows)
        blocks.append(fold(table, len(labels), f"{report.noun.capitalize()} by {field}"))
    note = (
        f"{measure}: mean with its {report.confidence * 100:g}% interval. In brackets: the number "
        "of queries with the value. Queries without a value are in no group. The other measures "
        "are in BenchmarkReport.html and BenchmarkReport.json."
    )
    return Fold("Groups of queries", [*blocks, Paragraph(note, "small")], "strata")


def _stratum(result: StratumResult | None, queries: int) -> Cell:
    if result is None:
        return Cell("–")
    count = f"n = {result.n:,}" if result.mean is not None and result.n != queries else ""
    return Cell(show(result.mean), detail=show_ci(result.ci), count=count)


def _diagnosis(report: BenchmarkReport) -> Fold | None:
    labels = {mode: f"{result.label}: " for mode, result in report.modes.items()}
    lines = [
        f"{labels.get(item.mode or '', '')}{item.observed}. This suggests: {item.suggests}."
        for item in report.diagnosis
    ]
    return Fold("Diagnosis", [Bullets(lines)], "diagnosis") if lines else None


def _failing(report: BenchmarkReport) -> Fold | None:
    noun, measure = report.noun, report.primary_measure
    if not report.higher_is_better(measure):
        return None
    title, failing = f"Queries that fail in every {noun}", report.failing_queries
    if not failing:
        none = f"None: on every query, at least one {noun} scores above 0 on {measure}."
        return Fold(title, [Paragraph(none)], "failing")
    rows = [
        [
            query.query_id,
            _shorten(query.text),
            *(_rank(query.first_relevant_rank[mode]) for mode in report.modes),
        ]
        for query in failing[:MOST_QUERIES]
    ]
    labels = [f"First relevant, {result.label}" for result in report.modes.values()]
    total = plural(report.manifest.dataset.queries, "query", "queries")
    text = (
        f"{len(failing):,} of {total} {'scores' if len(failing) == 1 else 'score'} 0 on {measure} "
        f"in every {noun}. The rank of the first relevant document shows whether a {noun} found "
        "it too far down or not at all."
    )
    table = TextTable.of(["Query", "Text", *labels], rows)
    return Fold(title, [Paragraph(text), table, _more(len(failing) - len(rows))], "failing")


def _shorten(text: str | None) -> str:
    return visible(" ".join((text or "–").split()), _LONGEST_TEXT)


def _rank(rank: int | None) -> str:
    return "not found" if rank is None else f"rank {rank}"


def _near(report: BenchmarkReport) -> Fold | None:
    if report.near_misses is None:
        return None
    if not report.near_misses:
        none = "None: no first result is wrong and a parent, child or sibling of an expected term."
        return Fold("Near misses", [Paragraph(none)], "near")
    rows = [
        [
            miss.query_id,
            _shorten(miss.text),
            report.modes[miss.mode].label,
            _term(miss.first),
            f"{miss.relation} of",
            "; ".join(map(_term, miss.expected)),
        ]
        for miss in report.near_misses[:MOST_QUERIES]
    ]
    header = ["Query", "Text", report.noun.capitalize(), "First result", "Relation", "Expected"]
    more = _more(len(report.near_misses) - len(rows))
    text = Paragraph(_near_sentence(report))
    return Fold("Near misses", [text, TextTable.of(header, rows), more], "near")


def _term(term: TermLabel) -> str:
    return f"{term.label} ({term.doc_id})" if term.label else term.doc_id


def _near_sentence(report: BenchmarkReport) -> str:
    """Return a sentence on the number of near misses of each mode."""
    counts = dict.fromkeys(report.modes, 0)
    for miss in report.near_misses or ():
        counts[miss.mode] += 1
    of_each = ", ".join(f"{report.modes[mode].label} {count}" for mode, count in counts.items())
    queries = plural(report.manifest.dataset.queries, "query", "queries")
    return (
        "First results that are not relevant, but a parent, child or sibling of an expected term, "
        f"by {report.noun}, of {queries}: {of_each}."
    )


def _runs(report: BenchmarkReport) -> Fold:
    """Return sizes and gaps of every mode."""
    rows = []
    for result in report.modes.values():
        found = result.diagnostics
        judged = next(((n, share) for n, share in found.judged.items() if share is not None), None)
        rows.append(
            [
                result.label,
                found.status if result.status == "ok" else result.status,
                f"{result.run.queries:,}",
                f"{result.run.results:,}",
                f"{len(found.missing_queries):,}",
                f"{len(found.shallow_queries):,}",
                "–" if judged is None else f"{judged[1]:.1%} ({judged[0]})",
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
    table = TextTable.of([*header, "Judged"], rows)
    without = Paragraph(_without_relevant(report))
    return Fold("Diagnostics", [table, Paragraph(reading, "small"), without], "runs")


def _without_relevant(report: BenchmarkReport) -> str:
    """List the judged queries without a relevant document; empty if there are none."""
    without = next(iter(report.modes.values())).diagnostics.queries_without_relevant
    if not without:
        return ""
    is_zero = report.manifest.averaging.no_relevant == "zero"
    effect = "which count 0 in the means" if is_zero else "omitted from every mean"
    listed = ", ".join(without[:MOST_QUERIES]) + (" …" if len(without) > MOST_QUERIES else "")
    return (
        f"Judged queries without a relevant document, {effect}: "
        f"{plural(len(without), 'query', 'queries')} ({listed})."
    )


def _definitions(report: BenchmarkReport) -> Fold:
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
    ending = Paragraph(f"{ties}; here {report.manifest.averaging}.")
    return Fold("Definitions", [Bullets(lines), ending], "definitions")


def _reproduction(report: BenchmarkReport) -> Fold:
    """Return commands, hashes and configuration, without commands that the writer states."""
    manifest = report.manifest
    version = manifest.packages.get("trectools-plus") or "<version>"
    commands = (
        f"pip install trectools_plus-{version}-py3-none-any.whl",
        "trectools-plus benchmark run --config benchmark.yaml",
    )
    config = json.dumps(manifest.config, indent=2, ensure_ascii=False)
    blocks: list[Block] = [
        Code("\n".join(commands)),
        Paragraph(f"Seed {manifest.seed}."),
        TextTable.of(["What", "SHA-256"], list_hashes(report)),
        Paragraph("The configuration with all defaults, valid as benchmark.yaml:"),
        Code(config, "json"),
    ]
    return Fold("How to reproduce", blocks, "provenance")


def _claims(report: BenchmarkReport) -> Fold:
    return Fold(CLAIMS_TITLE, [Bullets(list_claims(report))], "claims")
