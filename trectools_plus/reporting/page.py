"""``BenchmarkReport.html``: one file of blocks, styles and scripts.

The data of every query is compact JSON, from which scripts of the page draw plots and lists. Values
are arrays of 32-bit numbers as base64, mode by mode. Ids and texts are columns, in which each
appears once; results refer to documents by number.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.run.modes import DEEPEST
from trectools_plus.benchmark.verdict import make_verdict
from trectools_plus.formats.tables import Corpus, Qrels, Run, Topics
from trectools_plus.measures.judged import first_documents
from trectools_plus.reporting.benchmark import list_notes, report_sections
from trectools_plus.reporting.comparison import (
    describe_dataset,
    explain,
    means_table,
    method_line,
    name_letters,
)
from trectools_plus.reporting.document import html, make_policy, read_asset
from trectools_plus.statistics.comparison import ends_of
from trectools_plus.text import join_names, visible

if TYPE_CHECKING:
    from jinja2 import Template

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

_LESS_DEEP = 3
"""Results of a query in the page with very many queries and modes; otherwise :data:`DEEPEST`."""
_MANY = 5_000
"""Queries times modes that have fewer results."""
_MOST_VALUES = 350_000
"""Values in the page, apart from those of the first measure."""
_MOST_TEXT = 300_000
"""Letters of all queries, unless each would have fewer than 50."""
_SHORTEST_TEXT, _LONGEST_TITLE = 50, 90
_CELL, _RESULT = ["run", "query_id"], ["query_id", "doc_id"]


@dataclass(frozen=True, eq=False)
class QueryEvidence:
    """Values, results and texts of the queries of a report.

    Attributes:
        per_query: ``run, query_id, measure, value``; undefined values are null.
        runs: The runs as scored, at least their first documents, by mode.
        qrels: The judgments; without them results have no grades.
        topics: The texts of the queries.
        corpus: The titles of the documents.
    """

    per_query: pl.DataFrame
    runs: Mapping[str, Run] = field(default_factory=dict)
    qrels: Qrels = field(default_factory=lambda: Qrels.from_dict({}))
    topics: Topics | None = None
    corpus: Corpus | None = None


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
    headlines = report.headline_measures
    measures = [*dict.fromkeys([*headlines, *report.measure_names])]
    queries = None
    if evidence is not None:
        queries = _collect_queries(report, evidence, measures)
        measures = queries["measures"]
    verdicts = [make_verdict(report, name) for name in measures]
    switch = {
        "modes": [*report.modes],
        "measures": measures,
        "verdicts": [
            verdict and verdict.model_dump(include={"text", "best", "second"})
            for verdict in verdicts
        ],
        "comparisons": [
            [
                (
                    pair.contrast,
                    pair.baseline,
                    pair.difference,
                    *ends_of(pair.ci),
                    pair.p_adjusted,
                    pair.significant,
                )
                for pair in report.comparisons
                if pair.measure == name
            ]
            for name in measures
        ],
    }
    letters = name_letters(report, headlines)
    table = means_table(report, headlines, letters).transposed(report.setup.noun.capitalize())
    styles, scripts = ("".join(map(read_asset, names)) for names in (_STYLES, _SCRIPTS))
    labels = [result.label for result in report.modes.values()]
    return _read_template().render(
        report=report,
        title=f"{join_names(labels, f'{report.setup.noun}s', 3)} on {report.manifest.dataset.id}",
        facts=[*filter(None, (method_line(report), describe_dataset(report)))],
        notes=list_notes(report),
        result=html([table]),
        legend=explain(report, headlines, letters),
        sections=html(report_sections(report)),
        switch=switch,
        queries=queries,
        styles=styles,
        scripts=scripts,
        policy=make_policy(styles, scripts),
    )


def _collect_queries(
    report: BenchmarkReport, evidence: QueryEvidence, measures: Sequence[str]
) -> dict[str, Any]:
    """Return values and first results of every query, for JSON.

    Returns:
        ``modes`` (labels), ``measures`` (as many names as a page can have), ``lower`` (whether less
        is better), ``level`` (the lowest relevant grade), ``ids`` and ``texts`` of the queries (no
        texts if none is known), ``values`` (packed by measure, NaN if undefined), and by mode and
        query ``results`` (positions in ``documents`` and ``titles``) and ``grades``, for the first
        ``depth`` ranks.
    """
    query_ids = evidence.per_query["query_id"].unique(maintain_order=True)
    cells = pl.DataFrame({"run": [*report.modes]}).join(query_ids.to_frame(), how="cross")
    measures = measures[: 1 + _MOST_VALUES // max(1, cells.height)]
    first = next(iter(report.modes.values())).measures[measures[0]]
    texts = {} if evidence.topics is None else evidence.topics.to_dict()
    longest = max(_SHORTEST_TEXT, _MOST_TEXT // max(1, len(query_ids)))
    packed = []
    for name in measures:
        values = evidence.per_query.filter(measure=name)
        ordered = cells.join(values, on=_CELL, how="left", maintain_order="left")["value"]
        packed.append(b64encode(ordered.to_numpy().astype("<f4").tobytes()).decode())
    return {
        "modes": [result.label for result in report.modes.values()],
        "measures": measures,
        "lower": [not report.higher_is_better(measure) for measure in measures],
        "level": first.definition.relevance_level,
        "ids": query_ids.to_list(),
        "texts": [
            visible(" ".join(texts.get(query_id, "").split()), longest)
            for query_id in query_ids
            if texts
        ],
        "values": packed,
        **(_collect_results(evidence, cells) if evidence.runs else {"depth": 0}),
    }


def _collect_results(evidence: QueryEvidence, cells: pl.DataFrame) -> dict[str, Any]:
    """Return the first results of each mode and query with their grades, and the documents."""
    depth = DEEPEST if cells.height <= _MANY else _LESS_DEEP
    tops = (
        first_documents(run, depth).with_columns(run=pl.lit(mode))
        for mode, run in evidence.runs.items()
    )
    top = pl.concat(tops)
    judged = evidence.qrels.frame.join(top, _RESULT, "semi", maintain_order="left")
    judged = judged.unique(_RESULT, keep="first").select(*_RESULT, "relevance")
    top = top.join(judged, _RESULT, "left", maintain_order="left")
    documents = top.select(pl.col("doc_id").unique(maintain_order=True)).with_row_index("number")
    numbered = top.join(documents, on="doc_id", maintain_order="left")
    results = numbered.group_by(_CELL).agg("number", "relevance")
    cells = cells.join(results, on=_CELL, how="left", maintain_order="left")
    titles = {}
    if evidence.corpus is not None:
        known = evidence.corpus.find(documents["doc_id"]).filter(pl.col("title") != "")
        titles = dict(known.select("doc_id", "title").iter_rows())
    names = documents["doc_id"].to_list()
    return {
        "documents": names,
        "titles": [
            visible(" ".join(titles.get(name, "").split()), _LONGEST_TITLE)
            for name in names
            if titles
        ],
        "depth": depth,
        "results": cells["number"].to_list(),
        "grades": cells["relevance"].to_list(),
    }


@cache
def _read_template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__, "html"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return environment.get_template("page.html.j2")
