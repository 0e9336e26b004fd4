"""The page holds everything the report says, needs no network, and is deaf to markup in data."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from trectools_plus.benchmark.report import Diagnosis, FailingQuery
from trectools_plus.formats import Corpus, Qrels, Run, Topics
from trectools_plus.reporting import render_html
from trectools_plus.reporting.page import QueryEvidence

EVIL = '"><script>alert(1)</script></script><!--<img src=x onerror=alert(2)> & \u2028'
VOID = {"meta", "img", "input", "br", "link"}


class Document(HTMLParser):
    """Elements with their attributes, and the text of each kind."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.texts = {}
        self.open = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.texts.setdefault(tag, []).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        for tag in set(self.open):
            self.texts[tag][-1] += data

    def attributes(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def evidence_for(report, texts):
    rows = [
        (mode, query_id, measure, 0.25 * place)
        for place, mode in enumerate(report.modes)
        for query_id in texts
        for measure in report.measure_names
    ]
    columns = ["run", "query_id", "measure", "value"]
    scores = {query_id: {"d2": 2.0, "d1": 1.0} for query_id in texts}
    return QueryEvidence(
        pl.DataFrame(rows, schema=columns, orient="row"),
        {mode: Run.from_dict(scores, mode) for mode in report.modes},
        Qrels.from_dict({query_id: {"d1": 2, "d3": 1} for query_id in texts}),
        Topics.from_dict(texts),
        Corpus(pl.DataFrame({"doc_id": ["d1"], "title": [EVIL], "text": ["x"]})),
    )


def data_of(page):
    """The JSON about queries that the page embeds."""
    (text,) = re.findall(r'<script type="application/json" id="query-data">(.*?)</script>', page)
    return json.loads(text)


def values_of(data, measure):
    """The values by mode and query, decoded."""
    packed, size = base64.b64decode(data["values"][measure]), len(data["ids"])
    values = np.frombuffer(packed, "<f4").tolist()
    return [values[start : start + size] for start in range(0, len(values), size)]


def results_of(data):
    """The documents of the first results by mode and query."""
    queries = [[data["documents"][number] for number in row] for row in data["results"]]
    size = len(data["ids"])
    return [queries[start : start + size] for start in range(0, len(queries), size)]


def test_modes_measures_and_queries_are_there(make_report):
    report = make_report()
    page = render_html(report, evidence_for(report, {"q1": "first words", "q2": "second"}))
    document = Document(page)
    assert document.open == []
    for result in report.modes.values():
        assert any(result.label in text for text in document.texts["th"])
        for figures in result.measures.values():
            assert any(f"{figures.mean:.4f}" in text for text in document.texts["td"])
    data = data_of(page)
    assert data["measures"] == report.measure_names
    assert data["modes"] == [result.label for result in report.modes.values()]
    assert data["ids"] == ["q1", "q2"]
    assert data["texts"] == ["first words", "second"]
    assert values_of(data, 0) == [[0, 0], [0.25, 0.25], [0.5, 0.5]]


def test_the_number_of_timed_queries_is_shown(make_report):
    report = make_report()
    assert "p50 0.31, p95 0.92, p99 1.40<" in render_html(report)
    assert "timed queries" not in render_html(report)
    latency = report.modes["vector"].latency_ms.model_copy(update={"queries": 1_234})
    timed = report.modes["vector"].model_copy(update={"latency_ms": latency})
    report = report.model_copy(update={"modes": {**report.modes, "vector": timed}})
    assert "ms per query of 1,234 timed queries" in render_html(report)


def test_results_have_their_order_titles_and_grades(make_report):
    report = make_report()
    data = data_of(render_html(report, evidence_for(report, {"q1": "words"})))
    assert data["documents"] == ["d2", "d1"]
    assert results_of(data) == [[["d2", "d1"]]] * 3
    assert data["grades"] == [[None, 2]] * 3
    assert data["titles"][0] == ""
    assert data["titles"][1].startswith('"><script>')


def test_text_from_outside_is_never_markup(make_report):
    failing = FailingQuery(
        query_id=EVIL,
        text=EVIL,
        measure="RR@10",
        values={EVIL: 0},
        first_relevant_rank={EVIL: None},
    )
    item = Diagnosis(mode=EVIL, sign="x", observed=EVIL, suggests=EVIL)
    parts = {"failing_queries": [failing], "diagnosis": [item]}
    report = make_report({EVIL: {"RR@10": 0.1}}, **parts)
    config = report.manifest.model_copy(update={"config": {EVIL: EVIL}, "command": EVIL})
    report = report.model_copy(update={"manifest": config})
    plain = make_report({"a": {"RR@10": 0.1}}, failing_queries=[])
    page = render_html(report, evidence_for(report, {EVIL: EVIL}))
    document = Document(page)
    scripts = Document(render_html(plain, evidence_for(plain, {"q": "x"}))).attributes("script")
    assert document.attributes("script") == scripts
    assert document.attributes("img") == []
    assert not [
        name for _, attributes in document.elements for name in attributes if name[:2] == "on"
    ]
    data = data_of(page)
    assert (data["ids"], data["texts"]) == ([EVIL], [" ".join(EVIL.split())])


def test_nothing_is_loaded_from_anywhere(make_report):
    report = make_report()
    page = render_html(report, evidence_for(report, {"q1": "x"}))
    document = Document(page)
    assert document.attributes("link") == []
    sources = [
        value
        for _, attributes in document.elements
        for name, value in attributes.items()
        if name in ("src", "href", "srcset", "action", "poster", "data")
    ]
    assert sources
    assert all(str(source).startswith("#") for source in sources)
    namespace = "http://www.w3.org/2000/svg"
    assert not re.search(r"https?://|@import|url\(", page.replace(f'"{namespace}"', ""))


def test_the_policy_allows_this_style_and_this_script_only(make_report):
    page = render_html(make_report())
    document = Document(page)
    (policy,) = (
        str(meta["content"])
        for meta in document.attributes("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not [1 for _, attributes in document.elements if "style" in attributes]


def test_headings_tables_and_links_are_in_order(make_report):
    report = make_report()
    document = Document(render_html(report, evidence_for(report, {"q1": "x"})))
    levels = [int(tag[1]) for tag, _ in document.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert len(document.attributes("caption")) == len(document.attributes("table"))
    assert all(header.get("scope") in ("row", "col") for header in document.attributes("th"))
    ids = [attributes["id"] for _, attributes in document.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {str(link["href"])[1:] for link in document.attributes("a")} <= set(ids)


@pytest.mark.parametrize(
    "means",
    [
        {"a": {"RR@10": 0.4}},
        {"a": {"MinRank": None}, "b": {"MinRank": None}},
        {f"run{n}": {"RR@10": n / 100, "MeanRank": 1000.0 + n} for n in range(12)},
        {"a": {"RR@10": 0.0}, "b": {"RR@10": 0.0}},
    ],
)
def test_any_report_makes_a_page(make_report, means):
    page = render_html(make_report(means, latency=False))
    assert Document(page).open == []
    assert "None" not in page
    assert "nan" not in Document(page).texts["main"][0]
    assert 'id="query-data"' not in page


TEXT = "how long does it take to grow seven apples"


def large_evidence(report, queries, text=TEXT):
    """Random values with four decimals, long ids and ten results per query and mode."""
    random = np.random.default_rng(7)
    ids = [f"{1_000_000 + 7 * number}" for number in range(queries)]
    values = [
        pl.DataFrame(
            {
                "run": [mode] * queries,
                "query_id": ids,
                "measure": [measure] * queries,
                "value": random.beta(0.5, 1, queries)
                if column % 2
                else random.integers(0, 11, queries) / 10,
            }
        )
        for mode in report.modes
        for column, measure in enumerate(report.measure_names)
    ]
    results = {
        mode: pl.DataFrame(
            {
                "query_id": np.repeat(ids, 10),
                "doc_id": random.choice(8_841_823, 10 * queries, replace=False).astype(str),
                "rank": np.tile(np.arange(1, 11), queries),
                "score": np.tile(np.arange(10.0, 0.0, -1.0), queries),
                "tag": [mode] * (10 * queries),
            }
        )
        for mode in report.modes
    }
    hits = next(iter(results.values())).filter(pl.col("rank") == 3)
    return QueryEvidence(
        pl.concat(values),
        {mode: Run(frame) for mode, frame in results.items()},
        Qrels.from_dict({query: {doc: 1} for query, doc in hits["query_id", "doc_id"].iter_rows()}),
        Topics.from_dict(dict.fromkeys(ids, text)),
    )


@pytest.mark.parametrize(("queries", "modes", "most"), [(225, 3, 1_000_000), (6980, 2, 4_000_000)])
def test_the_page_has_a_few_megabytes_at_most(make_report, queries, modes, most):
    names = [f"{name}@{cutoff}" for name in ("nDCG", "AP", "RR", "R", "P") for cutoff in range(5)]
    means = {f"mode {mode}": dict.fromkeys(names, 0.1 * mode + 0.2) for mode in range(modes)}
    report = make_report(means)
    evidence = large_evidence(report, queries)
    page = render_html(report, evidence)
    assert len(page.encode()) < most
    data = data_of(page)
    assert len(data["ids"]) == queries
    assert len(data["values"]) == len(names) == 25
    assert data["depth"] >= 3
    for place, name in enumerate(names):
        values = evidence.per_query.filter(pl.col("measure") == name)["value"].to_numpy()
        expected = values.astype(np.float32).reshape(modes, -1)
        assert values_of(data, place) == expected.tolist()
    first = results_of(data)
    for place, run in enumerate(evidence.runs.values()):
        shown = run.frame.filter(pl.col("rank") <= data["depth"]).group_by("query_id")
        expected = dict(shown.agg("doc_id").iter_rows())
        assert dict(zip(data["ids"], first[place], strict=True)) == expected


@pytest.mark.parametrize("word", ["how long", "高血圧の", "Ähnlichkeit"])
def test_many_measures_and_long_texts_keep_the_page_small(make_report, word):
    names = [f"nDCG@{cutoff}" for cutoff in range(1, 71)]
    report = make_report({mode: dict.fromkeys(names, 0.4) for mode in ("a", "b")})
    evidence = large_evidence(report, 6980, word * 40)
    values = evidence.per_query.with_columns(
        value=pl.Series(np.random.default_rng(3).random(evidence.per_query.height))
    )
    page = render_html(report, replace(evidence, per_query=values))
    assert len(page.encode()) < 4_500_000
    data = data_of(page)
    assert len(data["values"]) >= 25
    assert len(data["texts"][0]) >= 50
    assert data["depth"] >= 1
    assert len(results_of(data)[1]) == 6980
