"""Files of users are runs, and searches are modes, in every rendering."""

import io
import re

import pytest
from harness.observe import ROOT

from trectools_plus.reporting import (
    Layout,
    print_report,
    table_as_text,
)

FIXTURES = ROOT / "fixtures"
QRELS = str(FIXTURES / "garden-trec/qrels.txt")
FAST = {"measures": ("nDCG@10", "RR@10", "P@5")}
WORDS = re.compile(r"\b(?:Best )?(mode|run)s?\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def of_runs(tmp_path_factory, write_benchmark):
    runs = {name: str(FIXTURES / f"runs/{name}.run") for name in ("lexical", "vector", "hybrid")}
    return write_benchmark(tmp_path_factory.mktemp("r") / "out", runs=runs, qrels=QRELS, **FAST)


@pytest.fixture(scope="module")
def of_modes(tmp_path_factory, write_benchmark):
    options = {"dataset": str(FIXTURES / "garden-trec"), "modes": ["lexical", "ngram"]}
    return write_benchmark(tmp_path_factory.mktemp("m") / "out", **options, **FAST)


def renderings(result):
    """The texts of a report, without scripts, styles, settings and paths."""
    stream = io.StringIO()
    print_report(result.report, stream, full=True)
    yield "terminal", stream.getvalue()
    markdown = (result.output_dir / "BenchmarkComparison.md").read_text("utf-8")
    yield "markdown", markdown.partition("## Settings")[0]
    page = (result.output_dir / "BenchmarkReport.html").read_text("utf-8")
    body = re.sub(r"<(script|style)\b.*?</\1>", "", page.partition("<body")[2], flags=re.DOTALL)
    yield "page", re.sub(r"<(code|pre|dd)\b.*?</\1>", "", body, flags=re.DOTALL)
    for systems in ("columns", "rows"):
        layout = Layout(systems)
        yield "latex", table_as_text(result.report, "latex", layout=layout)
        yield "table", table_as_text(result.report, "markdown", layout=layout)
    yield "family", result.report.comparisons[0].family
    yield "verdict", result.report.verdict.text + " ".join(result.report.verdict.next_steps)
    yield "notebook", re.sub(r"<[^>]+>", " ", result.report._repr_html_())


def test_a_report_of_files_has_no_mode(of_runs):
    assert of_runs.report.noun == "run"
    for name, text in renderings(of_runs):
        found = [match[0] for match in WORDS.finditer(text) if match[1].lower() == "mode"]
        assert not found, (name, found)


def test_a_report_of_searches_calls_them_modes(of_modes):
    assert of_modes.report.noun == "mode"
    texts = dict(renderings(of_modes))
    for name in ("terminal", "markdown", "page", "latex", "family"):
        assert re.search(r"\bmodes?\b", texts[name], re.IGNORECASE), name
        assert "Best Run" not in texts[name]
