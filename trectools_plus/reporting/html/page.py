"""``BenchmarkReport.html``: one file of templates, styles and scripts."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.verdict import baselines_of, make_verdict
from trectools_plus.display import TextTable
from trectools_plus.reporting import wording
from trectools_plus.reporting.comparison import (
    AHEAD_OF_ALL,
    NOT_AHEAD_OF_ALL,
    ComparisonTable,
    report_table,
)
from trectools_plus.reporting.document import html, make_policy, read_asset
from trectools_plus.reporting.html.per_query import (
    QueryEvidence,
    QueryValues,
    collect_queries,
    read_values,
)
from trectools_plus.reporting.results.benchmark import list_notes, report_sections
from trectools_plus.reporting.wording import name_difference, show, show_ci
from trectools_plus.statistics.comparison import Comparison, ends_of

if TYPE_CHECKING:
    from jinja2 import Environment

_STYLES = ("base.css", "tables.css", "plots.css", "queries.css", "print.css")
_SCRIPTS = (
    "elements.js",
    "axes.js",
    "sorting.js",
    "data.js",
    "plots.js",
    "details.js",
    "queries.js",
    "switch.js",
)
_MARKS_OF_BEST = f"{AHEAD_OF_ALL}:", f"{NOT_AHEAD_OF_ALL}:"
"""The line of the legend on the column of best modes, which the page does not have."""
_FILLED = re.compile(r'data-f="(?:t"[^>]*>([^<]*)<|[vc]" (?:data-values|class)="([^"]*)")')
MOST_COLUMNS = 6
"""Maximum number of measures in a table."""


def render_html(report: BenchmarkReport, evidence: QueryEvidence | None = None) -> str:
    """Return the report as one page that loads nothing else.

    The same arguments give the same bytes. Text from outside cannot become markup: templates escape
    every text, scripts only set text, and a content security policy allows only the script and the
    style of this page.

    Args:
        report: The report.
        evidence: Per-query values, runs, judgments and texts; without it the page has no plots and
            no list of queries.
    """
    measures = list_measures(report)
    primary, headlines = report.primary_measure, report.headline_measures
    others = [name for name in measures if name not in headlines]
    comparison = report_table(report)
    values = None if evidence is None else read_values(report, evidence.per_query, measures)
    if values is not None:
        measures = list(values.encoded)
    styles = "".join(read_asset(name) for name in _STYLES)
    scripts = "".join(read_asset(name) for name in _SCRIPTS)
    environment = make_environment()
    dynamic = environment.get_template("dynamic.html.j2").module
    views = {name: _view_measure(report, name) for name in measures}
    most = max(len(view["steps"]) for view in views.values())
    for view in views.values():
        view["steps"] += [""] * (most - len(view["steps"]))
    fills = {
        part: [_collect_fills(getattr(dynamic, part)(views[name])) for name in measures]
        for part in ("verdict", "steps", "differences", "strata")
    }
    return environment.get_template("page.html.j2").render(
        report=report,
        manifest=report.manifest,
        modes=list(report.modes.values()),
        title=make_title(report),
        primary=primary,
        measures=measures,
        view=views[primary],
        dataset=comparison.title,
        legend=[line for line in comparison.legend if not line.startswith(_MARKS_OF_BEST)],
        headline=view_means(report, comparison, headlines),
        others=view_means(report, comparison, others),
        notes=list_notes(report),
        sections=defaultdict(str, {one.key: html([one]) for one in report_sections(report)}),
        switch=embed_json(_collect_switch(report, measures, fills)),
        queries=_embed_queries(report, evidence, values),
        styles=styles,
        scripts=scripts,
        policy=make_policy(styles, scripts),
    )


def list_measures(report: BenchmarkReport) -> list[str]:
    """Return the measures of the page: headlines first; of equal ones only one."""
    return list(dict.fromkeys([*report.headline_measures, *report.measure_names]))


def make_title(report: BenchmarkReport) -> str:
    """Return the title: the modes and the dataset."""
    labels = [result.label for result in report.modes.values()]
    return f"{wording.join_labels(labels, noun=report.noun)} on {report.manifest.dataset.id}"


def embed_json(value: Any) -> str:
    """Return JSON that cannot end the script element around it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _view_measure(report: BenchmarkReport, measure: str) -> dict[str, Any]:
    """Return everything that the page shows for one measure and changes with the switch."""
    is_primary = measure == report.primary_measure and report.verdict is not None
    verdict = report.verdict if is_primary else make_verdict(report, measure)
    return {
        "measure": measure,
        "verdict": "" if verdict is None else verdict.text,
        "steps": [] if verdict is None else list(verdict.next_steps),
        "differences": view_differences(report, measure),
        "groups": "; ".join(
            wording.join_labels([report.modes[mode].label for mode in group], noun=report.noun)
            for group in wording.shown_groups(report, measure)
        )
        or "none",
        "strata": {field: wording.list_stratum(report, field, measure) for field in report.strata},
        "report": report,
        "modes": list(report.modes.values()),
    }


def _collect_fills(fragment: str) -> list[str]:
    """Return the texts, values and classes that change with the measure, in document order."""
    return [unescape(text or attribute) for text, attribute in _FILLED.findall(fragment)]


def _collect_switch(
    report: BenchmarkReport, measures: Sequence[str], fills: dict[str, list[list[str]]]
) -> dict[str, Any]:
    """Return what the switch of the page needs, apart from the values of queries.

    Returns:
        ``measures``; ``fills`` (by part of the page and measure: texts, values and classes in
        document order); ``pairs`` (by measure: positions of the modes that the difference plot
        shows first); ``comparisons`` (by measure: ``[contrast, baseline, difference, low, high,
        result in words]``).
    """
    names = {mode: place for place, mode in enumerate(report.modes)}
    comparisons: dict[str, list[list[Any]]] = {name: [] for name in measures}
    for entry in report.comparisons:
        if entry.measure in comparisons:
            difference, *ends = (
                None if value is None else round(value, 6)
                for value in (entry.difference, *ends_of(entry.ci))
            )
            pair = [names[entry.contrast], names[entry.baseline]]
            comparisons[entry.measure].append(
                [*pair, difference, *ends, wording.describe_result(entry)]
            )
    return {
        "measures": list(measures),
        "fills": fills,
        "pairs": [choose_pair(report, name) for name in measures],
        "comparisons": list(comparisons.values()),
    }


def _embed_queries(
    report: BenchmarkReport, evidence: QueryEvidence | None, values: QueryValues | None
) -> str | None:
    if evidence is None or values is None:
        return None
    return embed_json(collect_queries(report, evidence, values))


@cache
def make_environment() -> Environment:
    """Return the environment of the templates."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["verbatim"] = Markup
    environment.globals.update(
        show=show,
        show_ci=show_ci,
        ends_of=ends_of,
        values_of=spell_values,
        wording=wording,
    )
    return environment


def spell_values(*values: float | None) -> str:
    """Return the figures that the script draws, as text; those that are undefined as ``-``."""
    return " ".join("-" if value is None else f"{value:.7g}" for value in values)


def view_means(
    report: BenchmarkReport,
    comparison: ComparisonTable,
    measures: Sequence[str],
) -> list[TextTable]:
    """Return tables of at most :data:`MOST_COLUMNS` measures each, with modes as rows.

    Args:
        report: The report.
        comparison: Its comparison.
        measures: The measures, in the order of the columns.
    """
    tables = []
    # Tables of almost the same width: nineteen measures are 5, 5, 5 and 4.
    number = -(-len(measures) // MOST_COLUMNS)
    edges = [place * len(measures) // number for place in range(number + 1)] if number else [0]
    for start, end in pairwise(edges):
        table = comparison.means("Metric", measures[start:end], comparison.letters())
        tables.append(table.transposed(report.noun.capitalize()))
    return tables


def choose_pair(report: BenchmarkReport, measure: str) -> tuple[int, int]:
    """Return the positions of the modes of the verdict; without one, of the first two modes.

    For a single mode, the second position is -1.
    """
    if len(report.modes) < 2:
        return 0, -1
    verdict = make_verdict(report, measure)
    if verdict is None or verdict.best is None or verdict.second is None:
        return 1, 0
    names = list(report.modes)
    return names.index(verdict.best), names.index(verdict.second)


def view_differences(report: BenchmarkReport, measure: str) -> dict[str, Any]:
    """Return the differences of all pairs on one measure; of very many, those with the best mode.

    The pairs are those of the best mode on the primary measure, so that they do not change with
    the measure. Without a baseline, each row is the better mode minus the other one, as the page
    switches the primary measure.

    Returns:
        ``rows`` (the comparison, or ``None`` if the pair is not compared on the measure; the name
        of the difference; ``ahead`` or ``behind`` if it is significant); ``adjusted`` (a
        comparison with an adjusted p-value); ``further`` (the number of pairs that are only in the
        JSON report).
    """
    every = list(dict.fromkeys((one.baseline, one.contrast) for one in report.comparisons))
    pairs = every
    if len(every) > wording.MOST_PAIRS:
        best = report.best_mode[report.primary_measure]
        pairs = [pair for pair in every if best is None or best in pair][: wording.MOST_PAIRS]
    found = {
        (one.baseline, one.contrast): one for one in report.comparisons if one.measure == measure
    }
    rows = []
    for pair in pairs:
        entry = found.get(pair)
        if entry is not None and not baselines_of(report) and _side(report, entry) == "behind":
            entry = entry.turned()
        first, second = (report.modes[mode].label for mode in reversed(pair))
        name = f"{first} − {second}" if entry is None else name_difference(report, entry)
        rows.append((entry, name, _judge(report, entry)))
    further = len(every) - len(pairs)
    adjusted = next((one for one in report.comparisons if one.p_adjusted is not None), None)
    return {"rows": rows, "adjusted": adjusted, "further": further}


def _judge(report: BenchmarkReport, entry: Comparison | None) -> str:
    """Return ``ahead`` or ``behind`` for a significant difference."""
    return "" if entry is None or not entry.significant else _side(report, entry)


def _side(report: BenchmarkReport, entry: Comparison) -> str:
    if not entry.difference:
        return ""
    return "ahead" if (entry.difference > 0) == report.higher_is_better(entry.measure) else "behind"
