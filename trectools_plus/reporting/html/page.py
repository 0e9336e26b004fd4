"""``BenchmarkReport.html``: one file of templates, styles and scripts."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.parts import ends_of
from trectools_plus.benchmark.run.targets import describe_status
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.reporting import wording
from trectools_plus.reporting.comparison import report_table
from trectools_plus.reporting.html.per_query import QueryEvidence, collect_queries
from trectools_plus.reporting.html.views import (
    WIDTH,
    view_comparison,
    view_differences,
    view_strata,
)
from trectools_plus.reporting.table import show
from trectools_plus.text import plural

if TYPE_CHECKING:
    from jinja2 import Environment

_STYLES = ("base.css", "tables.css", "queries.css", "print.css")
_SCRIPTS = ("elements.js", "sorting.js", "details.js", "queries.js")
MOST_FAILING = 50
"""Maximum number of failing queries and of near misses in a list."""


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A plot for the page.

    Attributes:
        description: The text for readers who cannot see the plot.
        svg: The plot as SVG.
    """

    description: str
    svg: bytes

    @property
    def source(self) -> str:
        """The plot as a data URL."""
        return f"data:image/svg+xml;base64,{b64encode(self.svg).decode()}"


def write_html(
    report: BenchmarkReport,
    path: str | Path,
    evidence: QueryEvidence | None = None,
    figures: Sequence[PageFigure] = (),
) -> None:
    """Write the report as one HTML file, whole or not at all.

    Args:
        report: The report.
        path: The file.
        evidence: Per-query values and results; see :func:`render_html`.
        figures: Plots for the page.

    Raises:
        InputError: If the file cannot be written.
    """
    with atomic_write(path) as stream:
        stream.write(render_html(report, evidence, figures))


def render_html(
    report: BenchmarkReport,
    evidence: QueryEvidence | None = None,
    figures: Sequence[PageFigure] = (),
) -> str:
    """Return the report as one page that loads nothing else.

    The same report gives the same bytes. Text from outside cannot become markup: templates escape
    every text, scripts only set text, and a content security policy allows only the script and the
    style of this page.

    Args:
        report: The report.
        evidence: Per-query values, runs, judgments and texts; without it the page has no table
            of queries.
        figures: Plots for the page.
    """
    comparison = report_table(report)
    styles = "".join(_read_asset(name) for name in _STYLES)
    scripts = "".join(_read_asset(name) for name in _SCRIPTS)
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            report=report,
            manifest=report.manifest,
            modes=list(report.modes.values()),
            title=make_title(report),
            verdict=make_verdict(report),
            dataset=comparison.title,
            legend=comparison.legend,
            comparison=view_comparison(report, comparison),
            differences=view_differences(report),
            figures=figures,
            strata=view_strata(report),
            failing_counts=report.higher_is_better(report.measure_names[0]),
            most_failing=MOST_FAILING,
            config=json.dumps(report.manifest.config, indent=2, ensure_ascii=False),
            queries=None if evidence is None else embed_json(collect_queries(report, evidence)),
            styles=styles,
            scripts=scripts,
            policy=_make_policy(styles, scripts),
        )
    )


def make_title(report: BenchmarkReport) -> str:
    """Return the title: the modes and the dataset."""
    labels = [result.label for result in report.modes.values()]
    return f"{wording.join_labels(labels)} on {report.manifest.dataset.id}"


def make_verdict(report: BenchmarkReport) -> str:
    """Return a sentence on the best mode by the first measure and the significance of its lead."""
    measure = report.measure_names[0]
    mode = report.best_mode[measure]
    if mode is not None:
        return _judge_best(report, measure, mode)
    if measure in report.unranked:
        counts = ", ".join(
            f"{result.label} {show(figures.mean)} over {figures.n}"
            for result in report.modes.values()
            if (figures := result.measures[measure]).mean is not None
        )
        return (
            f"The means of {measure} are over different queries, so they are not ranked: {counts}."
        )
    means = [result.measures[measure].mean for result in report.modes.values()]
    defined = [mean for mean in means if mean is not None]
    if len(defined) < len(means):
        return f"{measure} is undefined for at least one mode, so there is no best mode."
    if len(means) > 1:
        best = (max if report.higher_is_better(measure) else min)(defined)
        return f"No single mode is best on {measure}: the best modes have {best:.4f}."
    (result,) = report.modes.values()
    figures = result.measures[measure]
    interval = ""
    low, high = ends_of(figures.ci)
    if low is not None and high is not None:
        interval = f" ({report.confidence * 100:g}% interval {low:.3f} to {high:.3f})"
    return f"{result.label} has {measure} {defined[0]:.4f}{interval} over {_queries(figures.n)}."


def embed_json(value: Any) -> str:
    """Return JSON that cannot end the script element around it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


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
        plural=plural,
        WIDTH=WIDTH,
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


def _judge_best(report: BenchmarkReport, measure: str, mode: str) -> str:
    figures = report.modes[mode].measures[measure]
    extreme = "highest" if report.higher_is_better(measure) else "lowest"
    opening = f"{report.modes[mode].label} has the {extreme} {measure}, {show(figures.mean)}"
    others = [name for name in report.modes if name != mode]
    if report.best_mode_significant[measure]:
        every = report.modes[others[0]].label if len(others) == 1 else "every other mode"
        return f"{opening}, and is significantly ahead of {every} over {_queries(figures.n)}."
    close = [report.modes[name].label for name in others if _is_close(report, mode, name, measure)]
    if not close:
        return f"{opening}, but is not significantly ahead of every other mode."
    labels = wording.join_labels(close)
    return (
        f"{opening}, but the difference from {labels} is not significant ({_queries(figures.n)})."
    )


def _is_close(report: BenchmarkReport, mode: str, other: str, measure: str) -> bool:
    """Return whether the modes were compared without a significant difference."""
    entry = report.find_comparison(other, mode, measure) or report.find_comparison(
        mode, other, measure
    )
    return entry is not None and not entry.significant


def _queries(n: int) -> str:
    return plural(n, "query", "queries")
