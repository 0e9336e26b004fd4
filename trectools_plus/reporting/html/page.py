"""``BenchmarkReport.html``: one file of blocks, styles and scripts."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from trectools_plus.benchmark.report.model import BenchmarkReport, Verdict
from trectools_plus.benchmark.report.verdict import make_verdict
from trectools_plus.reporting.comparison import (
    describe_dataset,
    explain,
    means_table,
    name_letters,
)
from trectools_plus.reporting.document import html, make_policy, read_asset
from trectools_plus.reporting.html.per_query import QueryEvidence, collect_queries
from trectools_plus.reporting.results.benchmark import list_notes, report_sections
from trectools_plus.reporting.wording import method_line, show_p
from trectools_plus.statistics.comparison import ends_of
from trectools_plus.text import join_names

if TYPE_CHECKING:
    from jinja2 import Template

_STYLES = ("base.css", "tables.css", "plots.css", "queries.css", "print.css")
_SCRIPTS = (
    *("elements.js", "axes.js", "sorting.js", "data.js"),
    *("plots.js", "details.js", "queries.js", "switch.js"),
)


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
    headlines, noun = report.headline_measures, report.noun
    measures = [*dict.fromkeys([report.primary_measure, *headlines, *report.measure_names])]
    queries = None
    if evidence is not None:
        queries = collect_queries(report, evidence, measures)
        measures = queries["measures"]
    verdicts = [make_verdict(report, name) for name in measures]
    texts = ["" if verdict is None else verdict.text for verdict in verdicts]
    switch = {
        "measures": measures,
        "verdicts": texts,
        "pairs": [_choose_pair(report, verdict) for verdict in verdicts],
        "comparisons": [_list_comparisons(report, name) for name in measures],
    }
    letters = name_letters(report, headlines)
    table = means_table(report, headlines, letters).transposed(noun.capitalize())
    styles, scripts = ("".join(map(read_asset, names)) for names in (_STYLES, _SCRIPTS))
    labels = [result.label for result in report.modes.values()]
    return _read_template().render(
        noun=noun,
        version=report.manifest.packages.get("trectools-plus", ""),
        title=f"{join_names(labels, f'{noun}s', 3)} on {report.manifest.dataset.id}",
        verdict=texts[0],
        measure=measures[0],
        facts=[line for line in (method_line(report), describe_dataset(report)) if line],
        notes=list_notes(report),
        result=html([table]),
        legend=explain(report, headlines, letters),
        steps=verdicts[0].next_steps if verdicts[0] else [],
        sections=html(report_sections(report)),
        switch=switch,
        queries=queries,
        styles=styles,
        scripts=scripts,
        policy=make_policy(styles, scripts),
    )


def _choose_pair(report: BenchmarkReport, verdict: Verdict | None) -> tuple[int, int]:
    """Return the positions of the modes of the verdict; without one, of the first two modes.

    For a single mode, the second position is -1.
    """
    names = list(report.modes)
    if verdict is None or verdict.best is None or verdict.second is None:
        return (1, 0) if len(names) > 1 else (0, -1)
    return names.index(verdict.best), names.index(verdict.second)


def _list_comparisons(report: BenchmarkReport, measure: str) -> list[list[Any]]:
    """Return ``[contrast, baseline, difference, low, high, result in words]`` of each pair."""
    places = {mode: place for place, mode in enumerate(report.modes)}
    return [
        [
            *(places[entry.contrast], places[entry.baseline]),
            *(entry.difference, *ends_of(entry.ci)),
            f"p {show_p(entry.p)}, {show_p(entry.p_adjusted)} adjusted; "
            f"{'' if entry.significant else 'not '}significant",
        ]
        for entry in report.comparisons
        if entry.measure == measure
    ]


@cache
def _read_template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return environment.get_template("page.html.j2")
