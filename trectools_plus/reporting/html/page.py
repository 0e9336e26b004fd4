"""``BenchmarkReport.html``: one file of templates, styles and scripts."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from html import unescape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.verdict import find_best_overall, make_verdict
from trectools_plus.benchmark.run.targets import describe_status
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.reporting import wording
from trectools_plus.reporting.analyses import analysis_sections
from trectools_plus.reporting.comparison import (
    AHEAD_OF_ALL,
    NOT_AHEAD_OF_ALL,
    report_table,
)
from trectools_plus.reporting.html.per_query import (
    QueryEvidence,
    QueryValues,
    collect_queries,
    read_values,
)
from trectools_plus.reporting.html.views import (
    PLOT_HEIGHT,
    PLOT_WIDTH,
    WIDTH,
    PlotAxis,
    choose_pair,
    difference_scale,
    find_pair,
    plot_axis,
    plot_differences,
    turn_interval,
    view_differences,
    view_means,
    view_strata,
)
from trectools_plus.reporting.table import show, show_ci, show_interval
from trectools_plus.statistics.comparison import ends_of
from trectools_plus.text import plural

if TYPE_CHECKING:
    from jinja2 import Environment

_STYLES = ("base.css", "tables.css", "plots.css", "queries.css", "print.css")
_SCRIPTS = (
    "elements.js",
    "sorting.js",
    "data.js",
    "plots.js",
    "heatmap.js",
    "details.js",
    "queries.js",
    "switch.js",
)
MOST_FAILING = 50
"""Maximum number of failing queries and of near misses in a list."""
_MARKS_OF_BEST = AHEAD_OF_ALL, NOT_AHEAD_OF_ALL
"""The line of the legend on the column of best modes, which the page does not have."""
_FILLED = re.compile(r'data-f="(?:t"[^>]*>([^<]*)<|[dc]" (?:d|class)="([^"]*)")')


def write_html(
    report: BenchmarkReport, path: str | Path, evidence: QueryEvidence | None = None
) -> None:
    """Write the report as one HTML file, whole or not at all.

    Args:
        report: The report.
        path: The file.
        evidence: Per-query values and results; see :func:`render_html`.

    Raises:
        InputError: If the file cannot be written.
    """
    with atomic_write(path) as stream:
        stream.write(render_html(report, evidence))


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
    pair = choose_pair(report, primary)
    values = None if evidence is None else read_values(report, evidence.per_query, measures)
    if values is not None:
        measures = list(values.parts)
    axes = {} if values is None else {name: plot_axis(one) for name, one in values.parts.items()}
    styles = "".join(_read_asset(name) for name in _STYLES)
    scripts = "".join(_read_asset(name) for name in _SCRIPTS)
    environment = _environment()
    dynamic = environment.get_template("dynamic.html.j2").module
    views = {name: _view_measure(report, name) for name in measures}
    most = max(len(view["steps"]) for view in views.values())
    for view in views.values():
        view["steps"] += [""] * (most - len(view["steps"]))
    fills = {
        part: [_collect_fills(getattr(dynamic, part)(views[name])) for name in measures]
        for part in ("verdict", "probability", "overall", "steps", "differences", "strata")
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
        headline=view_means(report, comparison, headlines, latency=True),
        others=view_means(report, comparison, others),
        plot=None
        if values is None
        else plot_differences(report, primary, values.parts[primary], axes[primary], pair),
        plot_result=_describe_pair(report, primary, pair),
        axis=axes.get(primary),
        analyses=analysis_sections(report),
        failing_counts=report.higher_is_better(report.measure_names[0]),
        most_failing=MOST_FAILING,
        config=json.dumps(report.manifest.config, indent=2, ensure_ascii=False),
        switch=embed_json(_collect_switch(report, measures, fills, axes)),
        queries=_embed_queries(report, evidence, values),
        styles=styles,
        scripts=scripts,
        policy=_make_policy(styles, scripts),
    )


def list_measures(report: BenchmarkReport) -> list[str]:
    """Return the measures of the page: headlines first; of equal ones only one."""
    return list(dict.fromkeys([*report.headline_measures, *report.shown_measures]))


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
    overall = report.best_overall if is_primary else find_best_overall(report, measure)
    own = report.model_copy(update={"best_overall": overall})
    return {
        "measure": measure,
        "verdict": "" if verdict is None else verdict.text,
        "probability": (verdict and verdict.probability) or "",
        "overall": wording.overall_line(own),
        "steps": [] if verdict is None else list(verdict.next_steps),
        "differences": view_differences(report, measure),
        "groups": "; ".join(
            wording.join_labels([report.modes[mode].label for mode in group], noun=report.noun)
            for group in report.groups.get(measure, [])
        )
        or "–",
        "strata": view_strata(report, measure),
        "report": report,
        "modes": list(report.modes.values()),
    }


def _describe_pair(report: BenchmarkReport, measure: str, pair: tuple[int, int]) -> str:
    """Return the mean difference of a pair of modes, its interval and the result of the test."""
    entry, direction = find_pair(report, measure, pair)
    if entry is None or entry.difference is None:
        return ""
    ends = turn_interval(entry, direction)
    difference = 0.0 + entry.difference * direction
    interval = show_interval(*ends, "+", decimals=4)
    figures = " ".join(filter(None, (show(difference, "+"), interval)))
    return f"Mean difference {figures}; {wording.describe_result(entry)}."


def _collect_fills(fragment: str) -> list[str]:
    """Return the texts, paths and classes that change with the measure, in document order."""
    return [unescape(text or attribute) for text, attribute in _FILLED.findall(fragment)]


def _collect_switch(
    report: BenchmarkReport,
    measures: Sequence[str],
    fills: dict[str, list[list[str]]],
    axes: dict[str, PlotAxis],
) -> dict[str, Any]:
    """Return what the switch of the page needs, apart from the values of queries.

    Returns:
        ``measures``; ``fills`` (by part of the page and measure: texts, paths and classes in
        document order); ``pairs`` (by measure: positions of the modes that the difference plot
        shows first); ``axes`` (by measure: upper end and labels); ``spans``
        (by measure: upper end of the axis of mean differences); ``comparisons`` (by measure:
        ``[contrast, baseline, difference, low, high, result in words]``).
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
        "axes": [[axes[name].top, axes[name].labels] for name in measures if name in axes],
        "spans": [difference_scale(report, name).high for name in measures],
        "comparisons": list(comparisons.values()),
    }


def _embed_queries(
    report: BenchmarkReport, evidence: QueryEvidence | None, values: QueryValues | None
) -> str | None:
    if evidence is None or values is None:
        return None
    return embed_json(collect_queries(report, evidence, values))


@cache
def _environment() -> Environment:
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
        plural=plural,
        WIDTH=WIDTH,
        PLOT_WIDTH=PLOT_WIDTH,
        PLOT_HEIGHT=PLOT_HEIGHT,
        describe_status=describe_status,
        sentence=_begin_sentence,
        wording=wording,
    )
    return environment


def _begin_sentence(text: str) -> str:
    """Return the text with a capital, unless it begins with a name such as nDCG@10."""
    return text[:1].upper() + text[1:] if text.partition(" ")[0].islower() else text


@cache
def _read_asset(name: str) -> str:
    folder = resources.files(__package__) / "assets"
    return (folder / name).read_text(encoding="utf-8")


def _make_policy(styles: str, scripts: str) -> str:
    """Return a content security policy that allows exactly this style and this script."""
    style, script = (
        b64encode(sha256(text.encode()).digest()).decode() for text in (styles, scripts)
    )
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
