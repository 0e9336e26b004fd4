"""``BenchmarkComparison.md``: the report of a benchmark as GitHub-flavoured Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence

from trectools_plus.benchmark.report import BenchmarkReport, ModeResult, StratumResult
from trectools_plus.benchmark.run.targets import describe_status
from trectools_plus.display import Cell, TextTable
from trectools_plus.reporting.analyses import analysis_sections
from trectools_plus.reporting.comparison import (
    ComparisonTable,
    fold,
    report_table,
)
from trectools_plus.reporting.wording import (
    CLAIMS_TITLE,
    COMPONENTS_EXPLANATION,
    MOST_QUERIES,
    NONE_NEAR,
    choose_comparisons,
    component_label,
    describe_components_test,
    describe_detectable,
    describe_difference_intervals,
    equal_line,
    group_lines,
    list_claims,
    list_commands,
    list_definition,
    list_hashes,
    list_stratum,
    method_line,
    mode_notes,
    name_difference,
    name_interval,
    near_rows,
    near_sentence,
    numeric_columns,
    other_name,
    report_notes,
    show,
    show_baseline,
    show_ci,
    show_contribution,
    show_decision,
    show_difference_interval,
    show_level,
    show_p,
    show_rank,
    state_without_relevant,
    target_lines,
)
from trectools_plus.text import plural

_LONG = 12
"""A section of more lines than this is collapsed."""
_TAG = re.compile("<")
_FOREIGN_TAG = re.compile("<(?!/?sup>)")
_LINK = re.compile(r"\]\((?!\w[\w./-]*\))")
"""The middle of a link or an image, unless it leads to a file beside the report."""
_BAR = re.compile(r"(\\*)\|")


def render_markdown(report: BenchmarkReport) -> str:
    """Return the report as GitHub-flavoured Markdown: title, verdict and headline table first.

    Long sections are collapsed.

    Args:
        report: The report.
    """
    headlines = report_table(report, report.headline_measures)
    sections = [
        escape(f"# Benchmark of {plain(headlines.title)}"),
        "" if report.verdict is None else escape(plain(report.verdict.text)),
        escape(plain(method_line(report))),
        _means(headlines),
        _against_baseline(report, headlines),
        _introduction(report, headlines),
        _other_measures(report),
        _targets(report),
        _differences(report),
        _components(report),
        _strata(report),
        _diagnosis(report),
        _failing_queries(report),
        _near_misses(report),
        _diagnostics(report),
        _analyses(report),
        _definitions(report),
        _reproduction(report),
        claims_section(list_claims(report)),
    ]
    return "\n\n".join(_collapse(section) for section in sections if section) + "\n"


def _collapse(section: str) -> str:
    """Return a long section with everything below its heading collapsed."""
    heading, _, content = section.partition("\n\n")
    if not heading.startswith("## ") or content.count("\n") < _LONG:
        return section
    return f"{heading}\n\n{collapsed('Show', content)}"


def _means(comparison: ComparisonTable) -> str:
    noun = comparison.noun.capitalize()
    return render_table(fold(comparison.by_measure(), len(comparison.labels), noun), show_cell)


def _against_baseline(report: BenchmarkReport, comparison: ComparisonTable) -> str:
    """Return the differences from the baseline on the primary measure; empty without a baseline."""
    if not comparison.differences.get(report.primary_measure):
        return ""
    return render_table(comparison.against_baseline(report.primary_measure), show_cell)


def _introduction(report: BenchmarkReport, comparison: ComparisonTable) -> str:
    steps = [] if report.verdict is None else report.verdict.next_steps
    notes = [f"> **{subject}:** {text}." for subject, text in mode_notes(report)]
    notes += [f"> **Note:** {line}" for line in report_notes(report)]
    paragraphs = [
        "  \n".join(plain(line) for line in (*comparison.legend, equal_line(report)) if line),
        "\n".join(["Look at next:\n", *(f"- {step}" for step in steps)]) if steps else "",
        *notes,
    ]
    return "\n\n".join(escape(part) for part in paragraphs if part)


def _other_measures(report: BenchmarkReport) -> str:
    """Return the table of all measures; empty if the headline measures are all."""
    shown = list(report.shown_measures)
    if not set(shown) - set(report.headline_measures):
        return ""
    table = _means(report_table(report, shown))
    return collapsed(f"All {len(shown)} measures", table)


def _targets(report: BenchmarkReport) -> str:
    first = next(iter(report.modes.values()))
    rows = []
    for measure in report.measure_names:
        target = first.measures[measure].target
        if target is None:
            continue
        rows.append(
            [
                measure,
                show_baseline(target),
                show_level(target, "competitive"),
                show_level(target, "strong"),
                *(_show_status(result, measure) for result in report.modes.values()),
            ]
        )
    if not rows:
        return ""
    labels = [result.label for result in report.modes.values()]
    return (
        "## Targets\n\n"
        + markdown_table(["Metric", "Typical baseline", "Competitive", "Strong", *labels], rows)
        + "".join(f"\n\n{escape(line)}" for line in target_lines(report))
    )


def _show_status(result: ModeResult, measure: str) -> str:
    target = result.measures[measure].target
    return "–" if target is None else describe_status(target)


def _diagnosis(report: BenchmarkReport) -> str:
    if not report.diagnosis:
        return ""
    lines = []
    for item in report.diagnosis:
        label = "" if item.mode is None else f"**{report.modes[item.mode].label}:** "
        lines.append(escape(f"- {label}{item.observed}. This suggests: {item.suggests}."))
    return "## Diagnosis\n\n" + "\n".join(lines)


def _failing_queries(report: BenchmarkReport) -> str:
    title = f"## Queries that fail in every {report.noun}"
    measure = report.primary_measure
    failing = report.failing_queries
    if not report.higher_is_better(measure):
        return ""
    if not failing:
        none = f"None: on every query, at least one {report.noun} scores above 0 on {measure}."
        return f"{title}\n\n{none}"
    labels = [f"First relevant, {result.label}" for result in report.modes.values()]
    rows = [
        [
            query.query_id,
            shorten(query.text or "–"),
            *(show_rank(query.first_relevant_rank[mode]) for mode in report.modes),
        ]
        for query in failing[:MOST_QUERIES]
    ]
    total = plural(report.manifest.dataset.queries, "query", "queries")
    more = len(failing) - len(rows)
    score = "scores" if len(failing) == 1 else "score"
    return (
        f"{title}\n\n{len(failing):,} of {total} {score} 0 on {measure} in every {report.noun}. "
        f"The rank of the first relevant document shows whether a {report.noun} found it too far "
        "down or not at all.\n\n"
        + markdown_table(["Query", "Text", *labels], rows)
        + (f"\n\n{more:,} more are in `BenchmarkReport.json`." if more else "")
    )


def _near_misses(report: BenchmarkReport) -> str:
    title = "## Near misses"
    if report.near_misses is None:
        return ""
    if not report.near_misses:
        return f"{title}\n\n{NONE_NEAR}"
    rows = [
        [
            row.query_id,
            shorten(row.text),
            row.mode,
            escape(row.first),
            f"{row.relation} of",
            escape(row.expected),
        ]
        for row in near_rows(report)[:MOST_QUERIES]
    ]
    more = len(report.near_misses) - len(rows)
    header = ["Query", "Text", report.noun.capitalize(), "First result", "Relation", "Expected"]
    return (
        f"{title}\n\n{escape(near_sentence(report))}\n\n"
        + markdown_table(header, rows)
        + (f"\n\n{more:,} more are in `BenchmarkReport.json`." if more else "")
    )


def _differences(report: BenchmarkReport) -> str:
    """Return differences with intervals, tests and groups; empty if nothing was compared."""
    entries = choose_comparisons(report)
    if not entries:
        return ""
    header = ["Metric", "Difference", "Mean", name_interval(entries[0])]
    header += ["p", "Adjusted p", "Significant"]
    header += ["d_z", "Detectable", "Won/tied/lost"]
    rows = [
        [
            entry.measure,
            name_difference(report, entry),
            show(entry.difference, "+"),
            show_difference_interval(entry),
            show_p(entry.p),
            show_p(entry.p_adjusted),
            show_decision(entry),
            "–" if entry.effect_size is None else f"{entry.effect_size:+.2f}",
            show(entry.detectable_difference),
            f"{entry.wins:,} / {entry.ties:,} / {entry.losses:,}",
        ]
        for entry in entries
    ]
    further = len(report.comparisons) - len(entries)
    parts = [
        "## Paired differences",
        markdown_table(header, rows),
        f"Each row compares two {report.noun}s query by query. Won, tied and lost count the "
        f"queries on which the first {report.noun} is better, equal or worse. d_z is the mean "
        "difference divided by the standard deviation of the differences. "
        f"{describe_detectable()} "
        f"{describe_difference_intervals(entries[0])} "
        f"{method_line(report)} Nothing corrects for the "
        "number of measures, so choose one measure before looking at the results."
        + (f" {further:,} more are in `BenchmarkReport.json`." if further else ""),
        _groups(report),
    ]
    return "\n\n".join(part for part in parts if part)


def _groups(report: BenchmarkReport) -> str:
    lines = group_lines(report)
    if not lines:
        return ""
    listed = "\n".join(f"- {escape(line)}" for line in lines)
    nouns = f"{report.noun.capitalize()}s"
    return f"{nouns} without a significant difference, best group first:\n\n{listed}"


def _components(report: BenchmarkReport) -> str:
    """Return what each component of a fusion contributes; empty without fusions."""
    if not report.components:
        return ""
    level = 100 * report.confidence
    shown = list(report.shown_measures)
    rows = [
        [
            escape(report.modes[one.mode].label),
            f"without {escape(component_label(report, one))}",
            *(show_contribution(one.measures.get(name)) for name in shown),
        ]
        for one in report.components
    ]
    return (
        "## What each component contributes\n\n"
        + markdown_table(["Fusion", "Left out", *shown], rows)
        + f"\n\n{COMPONENTS_EXPLANATION} In brackets: the {level:g}% interval. \\*: a significant "
        f"difference{describe_components_test(report)}. The runs are in `components/`."
    )


def _strata(report: BenchmarkReport) -> str:
    """Return the primary measure by the values of each query field; empty without fields."""
    fields = [name for name, values in report.strata.items() if values]
    if not fields:
        return ""
    level = report.confidence
    others = len(report.measure_names) - 1
    parts = ["## Groups of queries", *(_stratified(report, name) for name in fields)]
    note = (
        f"{report.primary_measure}: mean with its {level * 100:g}% interval. In brackets: the "
        "number of queries with the value. Queries without a value are in no group."
    )
    if others:
        note += " The other measures are in `BenchmarkReport.html` and `BenchmarkReport.json`."
    return "\n\n".join([*parts, note])


def _stratified(report: BenchmarkReport, field: str) -> str:
    measure = report.primary_measure
    labels = [escape(result.label) for result in report.modes.values()]
    rows = []
    for value, queries, results in list_stratum(report, field, measure):
        shown = (_show_stratum(each, queries) for each in results)
        rows.append([f"{harmless(value)} ({queries:,})", *shown])
    table = TextTable.of([harmless(field), *labels], rows)
    corner = f"{report.noun.capitalize()} by {harmless(field)}"
    return render_table(fold(table, len(labels), corner))


def _show_stratum(result: StratumResult | None, queries: int) -> str:
    if result is None:
        return show(None)
    count = f"(n = {result.n:,})" if result.mean is not None and result.n != queries else ""
    parts = (show(result.mean), show_ci(result.ci), count)
    return " ".join(part for part in parts if part)


def _diagnostics(report: BenchmarkReport) -> str:
    """Return sizes and gaps of every mode."""
    rows = []
    for result in report.modes.values():
        found = result.diagnostics
        judged = next(iter(found.judged.items()), None)
        rows.append(
            [
                result.label,
                found.status if result.status == "ok" else result.status,
                f"{result.run.queries:,}",
                f"{result.run.results:,}",
                f"{len(found.missing_queries):,}",
                f"{len(found.shallow_queries):,}",
                "–" if judged is None or judged[1] is None else f"{judged[1]:.1%} ({judged[0]})",
            ]
        )
    for mode in report.unscored.values():
        answered = mode.queries - len(mode.failed_queries)
        rows.append([mode.label, f"{mode.status}, not scored", f"{answered:,}", *["–"] * 4])
    header = [report.noun.capitalize(), "Status", "Queries", "Results", "Missing", "Shallow"]
    header += ["Judged"]
    parts = [
        "## Diagnostics",
        markdown_table(header, rows),
        "Missing: queries of the means without results. `missing: zero` counts "
        "them as 0. Shallow: queries with fewer results than the deepest cutoff, although there "
        "are more documents. The scores in `runs/` decrease in the order of the ranks.",
    ]
    without = state_without_relevant(report, MOST_QUERIES)
    if without is not None:
        parts.append(escape(without))
    return "\n\n".join(part for part in parts if part)


def claims_section(claims: Sequence[str]) -> str:
    """Return the section with the statements that nobody can derive."""
    lines = [f"- {harmless(' '.join(claim.split()))}" for claim in claims]
    return f"## {CLAIMS_TITLE}\n\n" + "\n".join(lines)


def _analyses(report: BenchmarkReport) -> str:
    """Return the analyses; empty if the report has none."""
    parts = [
        f"### {section.title}\n\n{render_table(section.table)}\n\n{escape(section.text)}"
        for section in analysis_sections(report)
    ]
    return "\n\n".join(["## Analyses", *parts]) if parts else ""


def _definitions(report: BenchmarkReport) -> str:
    """Return the definitions of the measures."""
    first = next(iter(report.modes.values()))
    lines = []
    for name, figures in first.measures.items():
        what = figures.definition
        also = other_name(name, what)
        canonical = f" ({also})" if also else ""
        call = f"; the same with trec_eval: `{what.trec_eval_call}`" if what.trec_eval_call else ""
        lines.append(f"- **{name}**{canonical}: {escape('; '.join(list_definition(what)))}{call}.")
    some = next(iter(first.measures.values())).definition
    return (
        "## Definitions\n\n"
        + "\n".join(lines)
        + escape(
            f"\n\nTies: {some.ties}. Averaged over: {some.averaged_over}; here "
            f"{report.manifest.averaging}."
        )
    )


def _reproduction(report: BenchmarkReport) -> str:
    """Return commands, hashes and configuration."""
    manifest = report.manifest
    config = json.dumps(manifest.config, indent=2, ensure_ascii=False)
    return "\n\n".join(
        [
            "## How to reproduce",
            "\n".join(["```sh", *list_commands(report), "```"]),
            f"Seed {manifest.seed}.",
            markdown_table(
                ["What", "SHA-256"],
                [[escape(what), f"`{digest}`"] for what, digest in list_hashes(report)],
            ),
            collapsed(
                "The configuration with all defaults (valid as benchmark.yaml)",
                f"```json\n{config}\n```",
            ),
        ]
    )


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; line breaks and bars in cells are escaped.

    Columns of numbers, except the first column, are aligned on the right.
    """
    texts = [list(row) for row in rows]
    cells = [[_cell(text) for text in row] for row in texts]
    right = numeric_columns(texts) or [False] * len(header)
    rule = _line(["---:" if aligned else "---" for aligned in right])
    return "\n".join([_line([_cell(text) for text in header]), rule, *map(_line, cells)])


def collapsed(summary: str, content: str) -> str:
    """Return content that readers open with a click on its summary."""
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def render_table(table: TextTable, show: Callable[[Cell], str] | None = None) -> str:
    """Return a table as Markdown.

    Args:
        table: The table.
        show: Renders a cell; by default its text, which may contain Markdown.
    """
    render = show or (lambda cell: cell.text)
    header = [render(column.heading) for column in table.columns]
    return markdown_table(header, ([render(cell) for cell in row.cells] for row in table.rows))


def show_cell(cell: Cell) -> str:
    """Return a cell with text, detail, count and marks; the best is bold."""
    text = _emphasise(cell, (cell.text, cell.detail))
    return " ".join(filter(None, (text, cell.bracketed_count, harmless(cell.marks))))


def show_superscript(cell: Cell) -> str:
    """Return a cell with its marks as superscripts."""
    text = _emphasise(cell, (cell.text, cell.detail, cell.bracketed_count))
    return f"{text}<sup>{cell.marks}</sup>" if cell.marks else text


def _emphasise(cell: Cell, parts: Sequence[str]) -> str:
    text = harmless(" ".join(filter(None, parts)))
    return f"**{text}**" if cell.best else text


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """Escape a cell: a line break or a bar would end it, also after backslashes."""
    line = escape(" ".join(text.split()), tags=_FOREIGN_TAG)
    return _BAR.sub(lambda bar: f"{2 * bar[1]}\\|", line)


def escape(text: str, *, tags: re.Pattern[str] = _TAG) -> str:
    """Return text from outside without tags, images, and links to other places."""
    return _LINK.sub(r"]\\(", tags.sub("&lt;", text))


def plain(text: str) -> str:
    """Return text with escaped asterisks, so that they are not emphasis or a bullet."""
    return text.replace("*", "\\*")


def shorten(text: str, longest: int = 120) -> str:
    """Return a text on one line without tags; a long one is cut with an ellipsis."""
    text = escape(" ".join(text.split()))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def harmless(text: str) -> str:
    """Return text from outside as plain text, without tags and emphasis."""
    return plain(escape(text))
