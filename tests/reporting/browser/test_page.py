"""The page in a real browser: quiet, sortable, searchable, never too wide, accessible."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from trectools_plus.benchmark.report import (
    BenchmarkReport,
    Diagnosis,
    FailingQuery,
    StratumResult,
)
from trectools_plus.formats.tables import Corpus, Qrels, Run, Topics
from trectools_plus.reporting.html.page import PageFigure, write_html
from trectools_plus.reporting.html.per_query import QueryEvidence

pytestmark = pytest.mark.process

QUERIES = 60
WIDTHS = (390, 1440)
SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 300"><path d="M0 0h720v300z"/></svg>'
)


def make_file(make_report: Any, path: Path) -> Path:
    """A report with every section, long words in it, and text that would be a script."""
    ids = [f"q{number:02}" for number in range(QUERIES)]
    texts = {query_id: f"what is number {query_id[1:]} about" for query_id in ids}
    texts["q07"] = "<script>document.title = 'broken'</script> apples " + "long" * 40
    failing = FailingQuery(
        query_id="q59",
        text=texts["q59"],
        measure="nDCG@10",
        values={"lexical": 0, "vector": 0, "hybrid": 0},
        first_relevant_rank={"lexical": None, "vector": 12, "hybrid": 40},
    )
    report = make_report(failing_queries=[failing], diagnostics={"notes": ["few results " * 20]})
    ci = report.modes["lexical"].measures["RR@10"].ci
    strata = {
        "difficulty": {
            value: {
                mode: {name: StratumResult(mean=0.6, n=n, ci=ci) for name in report.measure_names}
                for mode in report.modes
            }
            for value, n in (("easy", 56), ("hard", 4))
        }
    }
    report = report.model_copy(update={"strata": strata})
    write_html(report, path, make_evidence(report, texts), [PageFigure("A triangle", SVG)])
    return path


def make_evidence(report: BenchmarkReport, texts: dict[str, str]) -> QueryEvidence:
    ids = list(texts)
    rows = [
        (mode, query_id, measure, ((place + 1) * number * 7 % 60) / 60)
        for place, mode in enumerate(report.modes)
        for number, query_id in enumerate(ids)
        for measure in report.measure_names
    ]
    runs = {
        mode: Run.from_dict({query_id: {"d1": 2.0, "d2": 1.0} for query_id in ids}, mode)
        for mode in report.modes
    }
    return QueryEvidence(
        pl.DataFrame(rows, schema=["run", "query_id", "measure", "value"], orient="row"),
        runs,
        Qrels.from_dict({query_id: {"d2": 2, "d3": 1} for query_id in ids}),
        Topics.from_dict(texts),
        Corpus(pl.DataFrame({"doc_id": ["d1"], "title": ["A title"], "text": ["x"]})),
    )


@pytest.fixture
def file(make_report: Any, tmp_path: Path) -> Path:
    return make_file(make_report, tmp_path / "BenchmarkReport.html")


def first_cells(page: Any, table: str) -> list[str]:
    """The first cell of each row that is seen."""
    return page.run(
        f"[...document.querySelectorAll('{table} > tbody > tr:not(.detail)')]"
        ".map((row) => row.cells[0].firstElementChild?.textContent ?? row.cells[0].textContent)"
    )


def choose(page: Any, name: str, value: str, event: str = "change") -> None:
    page.run(
        f"{{ const field = document.getElementById('query-{name}'); field.value = '{value}';"
        f" field.dispatchEvent(new Event('{event}', {{bubbles: true}})); }}"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_console_is_quiet_and_nothing_is_requested(page: Any, file: Path, scheme: str) -> None:
    page.prefer(prefers_color_scheme=scheme)
    page.open(file)
    page.run("document.querySelectorAll('img').forEach((image) => image.scrollIntoView())")
    page.wait_for("[...document.images].every((image) => image.complete && image.naturalWidth)")
    assert page.problems == []
    assert {url.partition(":")[0] for url in page.requests} <= {"file", "data"}
    assert len([url for url in page.requests if url.startswith("file:")]) == 1
    assert page.run("document.title").startswith("Lexical-Only")


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window(page: Any, file: Path, width: int) -> None:
    page.open(file, width)
    choose(page, "search", "apples", "input")
    page.run("document.querySelector('button.open').click()")
    page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.run("document.scrollingElement.scrollWidth <= innerWidth")
    assert page.run(
        "[...document.querySelectorAll('main *')].every((one) =>"
        " one.closest('.scroll, pre, .unseen') || one.getBoundingClientRect().right <= innerWidth)"
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_many_modes_with_long_names_fit_too(
    page: Any, make_report: Any, tmp_path: Path, width: int
) -> None:
    means = {
        f"run-{n:02}-{'verylongname' * 5}": {"nDCG@10": n / 20, "MeanRank": 1234.5 + n}
        for n in range(12)
    }
    path = tmp_path / "many.html"
    diagnosis = [Diagnosis(mode=mode, sign="x", observed="low", suggests="more") for mode in means]
    report = make_report(means, latency=False, diagnosis=diagnosis)
    write_html(report, path, make_evidence(report, {"q1": "a query"}))
    page.open(path, width)
    page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.run("document.scrollingElement.scrollWidth <= innerWidth")
    # A long name is broken within its cell: it neither widens the column nor runs into the next.
    widest = page.run(
        "Math.max(...[...document.querySelectorAll('.comparison td, .comparison th')]"
        ".map((cell) => cell.getBoundingClientRect().width))"
    )
    assert widest < 250
    too_wide = page.run(
        "[...document.querySelectorAll('.scroll table:not(.stack) th')]"
        ".filter((cell) => cell.scrollWidth > cell.clientWidth + 1)"
        ".map((cell) => [cell.textContent, cell.scrollWidth, cell.clientWidth])"
    )
    assert too_wide == []
    assert page.problems == []


def test_short_names_stay_whole_on_a_phone(page: Any, file: Path) -> None:
    page.open(file, 390)
    broken = page.run(
        "[...document.querySelectorAll('tbody th[scope=row]')].filter((cell) => {"
        " const range = document.createRange(); range.selectNodeContents(cell);"
        " return !/[-\\s]/.test(cell.textContent.trim()) && cell.textContent.length < 14"
        " && new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;"
        " }).map((cell) => cell.textContent)"
    )
    assert broken == []


def test_the_comparison_sorts_with_the_keyboard(page: Any, file: Path) -> None:
    page.open(file)
    header = ".comparison th:nth-child(2)"
    assert first_cells(page, ".comparison") == ["Lexical-Only", "Vector-Only", "Hybrid"]
    page.run(f"document.querySelector('{header} button').focus()")
    page.press("Enter", "Enter", 13, "\r")
    assert page.run(f"document.querySelector('{header}').ariaSort") == "descending"
    assert first_cells(page, ".comparison") == ["Hybrid", "Lexical-Only", "Vector-Only"]
    page.press(" ", "Space", 32, " ")
    assert page.run(f"document.querySelector('{header}').ariaSort") == "ascending"
    assert first_cells(page, ".comparison") == ["Vector-Only", "Lexical-Only", "Hybrid"]
    assert "nDCG@10, ascending" in page.run("document.getElementById('status').textContent")


def test_queries_are_paged_sorted_and_searched(page: Any, file: Path) -> None:
    page.open(file)
    assert first_cells(page, "#query-table") == [f"q{number:02}" for number in range(25)]
    page.run("document.querySelector('[data-step=\"1\"]').click()")
    assert first_cells(page, "#query-table")[0] == "q25"
    assert page.run("document.querySelector('#query-pages span').textContent") == "26–50 of 60"
    page.run("document.querySelector('#query-table th:nth-child(2) button').click()")
    values = page.run(
        "[...document.querySelectorAll('#query-table > tbody > tr:not(.detail)')]"
        ".map((row) => Number(row.cells[1].textContent))"
    )
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(59 / 60, abs=1e-4)
    choose(page, "search", "ABOUT 4 number", "input")
    found = sorted(first_cells(page, "#query-table"))
    assert found == [f"q{number:02}" for number in range(60) if "4" in str(number)]
    choose(page, "search", "nothing like it", "input")
    assert first_cells(page, "#query-table") == []
    assert page.run("document.querySelector('#query-pages span').textContent") == "No query matches"
    choose(page, "search", "", "input")
    choose(page, "filter", "fail")
    assert first_cells(page, "#query-table") == ["q59"]
    assert page.problems == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("top", [1, 4])
def test_bars_have_one_scale_in_columns_of_different_widths(
    page: Any, make_report: Any, tmp_path: Path, width: int, top: int
) -> None:
    means = {"a": {"nDCG@10": 0.4}, "a run with quite a long name": {"nDCG@10": 0.3}}
    values = [("a", "q1", 0.4308), ("a run with quite a long name", "q1", 0.3761)]
    values += [("a", "q2", 1.0), ("a run with quite a long name", "q2", 0.0)]
    rows = [(run, query_id, "nDCG@10", value * top) for run, query_id, value in values]
    table = pl.DataFrame(rows, schema=["run", "query_id", "measure", "value"], orient="row")
    path = tmp_path / "bars.html"
    write_html(make_report(means), path, QueryEvidence(table))
    page.open(path, width)
    lengths = page.run(
        "[...document.querySelectorAll('#query-table td.bar')].map((cell) => {"
        " const probe = document.createElement('div');"
        " probe.style.width = getComputedStyle(cell).backgroundSize.split(' 3px')[0];"
        " cell.append(probe); const found = probe.getBoundingClientRect().width;"
        " probe.remove(); return [found, cell.clientWidth]; })"
    )
    bars = [length for length, _ in lengths]
    assert all(length < room for length, room in lengths)
    assert bars[1] / bars[0] == pytest.approx(0.3761 / 0.4308, abs=0.01)
    assert bars[0] / bars[2] == pytest.approx(0.4308, abs=0.01)
    assert bars[3] == 0


def test_a_query_shows_the_modes_side_by_side(page: Any, file: Path) -> None:
    page.open(file)
    choose(page, "search", "apples", "input")
    page.run("document.querySelector('button.open').click()")
    assert page.run("document.querySelector('button.open').ariaExpanded") == "true"
    assert page.run("document.activeElement.className") == "open"
    headings = page.run("[...document.querySelectorAll('.results h3')].map((h) => h.textContent)")
    assert headings == ["Lexical-Only", "Vector-Only", "Hybrid"]
    grades = page.run(
        "[...document.querySelectorAll('.results')][0].innerText.replace(/\\s+/g, ' ')"
    )
    assert "not judged" in grades
    assert "A title" in grades
    assert "grade 2" in grades
    assert page.run("document.querySelector('.inside table').rows.length") == 3
    assert page.run("document.title") != "broken"


def test_a_failing_query_leads_to_its_results(page: Any, file: Path) -> None:
    page.open(file)
    page.run("document.querySelector('[data-query]').click()")
    assert first_cells(page, "#query-table") == ["q59"]
    assert page.run("document.querySelectorAll('.results').length") == 3


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(
    page: Any, file: Path, axe: str, scheme: str, width: int
) -> None:
    page.prefer(prefers_color_scheme=scheme)
    page.open(file, width)
    page.run("document.querySelector('button.open').click()")
    page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.run(axe + "; 0")
    violations = page.run(
        "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations"
        ".map((rule) => [rule.impact, rule.id, rule.nodes.map((node) => node.target.join(' '))]))"
    )
    assert [found for found in violations if found[0] in ("serious", "critical")] == []
    assert violations == []


def test_everything_is_printed(page: Any, file: Path) -> None:
    page.open(file)
    page.call("Emulation.setEmulatedMedia", media="print")
    hidden = "getComputedStyle(document.querySelector('{}')).display"
    assert page.run(hidden.format("nav")) == "none"
    assert page.run(hidden.format(".controls")) == "none"
    page.call("Emulation.setEmulatedMedia", media="")
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run("[...document.querySelectorAll('details')].every((one) => one.open)")
    page.run("dispatchEvent(new Event('afterprint'))")
    assert not page.run("[...document.querySelectorAll('details')].some((one) => one.open)")
    pdf = base64.b64decode(page.call("Page.printToPDF", printBackground=False)["data"])
    assert pdf.startswith(b"%PDF")


def test_motion_is_reduced_on_request(page: Any, file: Path) -> None:
    page.open(file)
    page.prefer(prefers_reduced_motion="reduce")
    assert page.run("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


def test_the_focus_is_seen(page: Any, file: Path) -> None:
    page.open(file)
    page.press("Tab", "Tab", 9)
    assert page.run("document.activeElement.className") == "skip"
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert page.run("document.activeElement.getBoundingClientRect().left >= 0")
