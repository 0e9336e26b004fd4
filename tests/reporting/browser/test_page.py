"""The page in a real browser: quiet, sortable, searchable, never too wide, accessible."""

import base64
from dataclasses import replace

import polars as pl
import pytest

from trectools_plus.benchmark.report import FailingQuery, StratumResult
from trectools_plus.formats import Corpus, Qrels, Run, Topics
from trectools_plus.reporting import render_html
from trectools_plus.reporting.page import QueryEvidence

pytestmark = [pytest.mark.process, pytest.mark.slow("starts a browser")]

QUERIES = 60
WIDTHS = (390, 1280, 1440)


def make_file(make_report, path):
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
    path.write_text(render_html(report, make_evidence(report, texts)), encoding="utf-8")
    return path


def make_evidence(report, texts):
    ids = list(texts)
    rows = [
        (mode, query_id, measure, ((place + 1) * number * 7 % (60 - 13 * column)) / 60)
        for place, mode in enumerate(report.modes)
        for number, query_id in enumerate(ids)
        for column, measure in enumerate(report.measure_names)
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
def file(make_report, tmp_path):
    return make_file(make_report, tmp_path / "BenchmarkReport.html")


def first_cells(page, table):
    """The first cell of each row that is seen."""
    return page.run(
        f"[...document.querySelectorAll('{table} > tbody > tr')]"
        ".map((row) => (row.cells[0].querySelector('button, a') ?? row.cells[0].firstChild)"
        ".textContent.trim())"
    )


def choose(page, name, value, event="change"):
    page.run(
        f"{{ const field = document.getElementById('{name}'); field.value = '{value}';"
        f" field.dispatchEvent(new Event('{event}', {{bubbles: true}})); }}"
    )


def text_of(page, selector):
    return " ".join(page.run(f"document.querySelector('{selector}').textContent").split())


def open_section(page, name):
    page.run(f"document.getElementById('{name}').open = true")
    page.wait_for("!reportPage.stale")


def open_all(page):
    page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.wait_for("!reportPage.stale")


def press(page, key):
    codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36}
    codes |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
    texts = {"Enter": "\r", " ": " "}
    page.press(key, "Space" if key == " " else key, codes[key], texts.get(key, ""))


def tab_to(page, selector):
    """Press Tab until this element has the focus."""
    for _ in range(80):
        press(page, "Tab")
        if page.run(f"document.activeElement.matches('{selector}')"):
            return
    raise AssertionError(f"the Tab key does not reach {selector}")


# Content that scrolls inside its own frame may be wider than the window.
_TOO_WIDE = (
    "[...document.querySelectorAll('body *')].filter((one) =>"
    " !one.closest('.scroll, pre, .unseen, .skip, svg, dialog:not([open]), script, option')"
    " && one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)"
    ".map((one) => one.outerHTML.slice(0, 120))"
)
_SCROLLING = (
    "[...document.querySelectorAll('.scroll')]"
    ".filter((one) => one.clientWidth && one.scrollWidth > one.clientWidth + 1)"
    ".map((one) => [one.ariaLabel, one.scrollWidth, one.clientWidth])"
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_console_is_quiet_and_nothing_is_requested(page, file, scheme):
    page.prefer(prefers_color_scheme=scheme)
    page.open(file)
    open_all(page)
    assert page.problems == []
    assert {url.partition(":")[0] for url in page.requests} <= {"file", "data"}
    assert len([url for url in page.requests if url.startswith("file:")]) == 1
    assert page.run("document.title").startswith("Lexical-Only")


def test_the_result_is_on_the_first_screen_and_the_rest_is_collapsed(page, file):
    page.open(file, 1400, 900)
    tops = [
        page.run(f"document.querySelector('{part}').getBoundingClientRect().{edge}")
        for part, edge in (("h1", "top"), (".verdict", "top"), ("#result table", "top"))
    ]
    tops.append(page.run("document.querySelector('#plot-area').getBoundingClientRect().bottom"))
    assert tops == sorted(tops)
    assert tops[-1] < 900
    assert page.run("[...document.querySelectorAll('details')].every((one) => !one.open)")


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window(page, file, width):
    page.open(file, width)
    open_all(page)
    choose(page, "query-search", "apples", "input")
    assert page.run(_TOO_WIDE) == []
    assert page.run("document.scrollingElement.scrollWidth <= innerWidth")
    if width >= 1280:
        assert page.run(_SCROLLING) == []
    page.run("document.querySelector('button.open').click()")
    assert page.run("find('query-dialog').getBoundingClientRect().right <= innerWidth")
    assert page.run("find('query-dialog').scrollWidth <= find('query-dialog').clientWidth")


def test_the_means_sort_with_the_keyboard(page, file):
    page.open(file)
    header = "#result th:nth-child(2)"
    assert first_cells(page, "#result table") == ["Lexical-Only", "Vector-Only", "Hybrid"]
    page.run(f"document.querySelector('{header} button').focus()")
    press(page, "Enter")
    assert page.run(f"document.querySelector('{header}').ariaSort") == "descending"
    assert first_cells(page, "#result table") == ["Hybrid", "Lexical-Only", "Vector-Only"]
    press(page, " ")
    assert page.run(f"document.querySelector('{header}').ariaSort") == "ascending"
    assert first_cells(page, "#result table") == ["Vector-Only", "Lexical-Only", "Hybrid"]
    assert "nDCG@10, ascending" in page.run("document.getElementById('status').textContent")


def test_the_plot_shows_the_difference_of_every_query(page, file):
    page.open(file)
    box = "document.querySelector('#plot svg').getBoundingClientRect()"
    bars = page.run(
        "[...document.querySelectorAll('#plot .better, #plot .worse')].map((path) =>"
        " path.getAttribute('d').match(/V[\\d.]+h/g).map((part) => Number(part.slice(1, -1))))"
    )
    values = page.run("reportPage.plot.values")
    better = [value for value in values if round(value * 1e6) > 0]
    worse = [value for value in values if round(value * 1e6) < 0]
    top = 0.75
    for found, expected in zip(bars, (better, worse), strict=True):
        assert found == pytest.approx([100 - 100 * value / top for value in expected], abs=0.06)
    labels = page.run(
        "[...document.querySelectorAll('#plot-scale span')].map((one) => one.textContent)"
    )
    assert labels == ["+0.75", "+0.5", "+0.25", "0", "−0.25", "−0.5", "−0.75"]
    assert text_of(page, "#plot-sides") == (
        f"Hybrid better: {len(better)}equal: {len(values) - len(better) - len(worse)}"
        f"Lexical-Only better: {len(worse)}"
    )
    assert page.run(f"{box}.height") > 100


def test_the_switch_changes_the_measure_everywhere_with_the_keyboard(page, file):
    page.open(file)
    open_all(page)
    parts = {
        "verdict": ".verdict",
        "plot": "#plot-title",
        "result": "#plot-result",
        "list": "#query-table",
    }
    before = {name: text_of(page, selector) for name, selector in parts.items()}
    bars = page.run("document.querySelector('#plot .better').getAttribute('d')")
    tab_to(page, "#measure")
    press(page, "ArrowDown")
    assert page.run("document.getElementById('measure').selectedOptions[0].text") == "RR@10"
    after = {name: text_of(page, selector) for name, selector in parts.items()}
    assert [name for name in parts if after[name] == before[name]] == []
    for name in ("verdict", "plot", "list"):
        assert "RR@10" in after[name], name
        assert "nDCG@10" not in after[name], name
    assert page.run("document.querySelector('#plot .better').getAttribute('d')") != bars
    assert text_of(page, "#result th.chosen") == "RR@10"
    press(page, "ArrowUp")
    assert {name: text_of(page, selector) for name, selector in parts.items()} == before
    assert page.problems == []


def test_queries_are_paged_sorted_and_searched(page, file):
    page.open(file)
    open_section(page, "queries")
    page.run("document.querySelector('#query-table th button').click()")
    assert first_cells(page, "#query-table") == [f"q{number:02}" for number in range(25)]
    page.run("document.querySelector('[data-step=\"1\"]').click()")
    assert first_cells(page, "#query-table")[0] == "q25"
    assert page.run("document.querySelector('#query-pages span').textContent") == "26–50 of 60"
    page.run("document.querySelector('#query-table th:nth-child(2) button').click()")
    values = page.run(
        "[...document.querySelectorAll('#query-table > tbody > tr')]"
        ".map((row) => Number(row.cells[1].textContent))"
    )
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(59 / 60, abs=1e-4)
    choose(page, "query-search", "ABOUT 4 number", "input")
    found = sorted(first_cells(page, "#query-table"))
    assert found == [f"q{number:02}" for number in range(60) if "4" in str(number)]
    choose(page, "query-search", "nothing like it", "input")
    assert first_cells(page, "#query-table") == []
    assert page.run("document.querySelector('#query-pages span').textContent") == "No query matches"
    choose(page, "query-search", "", "input")
    choose(page, "query-filter", "fail")
    assert first_cells(page, "#query-table") == ["q00"]
    assert page.problems == []


def test_a_query_shows_the_modes_side_by_side(page, file):
    page.open(file)
    open_section(page, "queries")
    choose(page, "query-search", "apples", "input")
    page.run("document.querySelector('button.open').focus()")
    press(page, "Enter")
    assert page.run("document.getElementById('query-dialog').open")
    headings = page.run("[...document.querySelectorAll('.results h3')].map((h) => h.textContent)")
    assert headings == ["Lexical-Only", "Vector-Only", "Hybrid"]
    grades = page.run(
        "[...document.querySelectorAll('.results')][0].innerText.replace(/\\s+/g, ' ')"
    )
    assert "not judged" in grades
    assert "A title" in grades
    assert "grade 2" in grades
    rows = page.run(
        "[...document.querySelectorAll('#query-dialog table tr')].map((row) => row.textContent)"
    )
    assert rows[0] == "MeasureLexical-OnlyVector-OnlyHybrid"
    assert [row[:5] for row in rows[1:]] == ["nDCG@", "RR@10"]
    assert page.run("location.hash") == "#q=q07"
    press(page, "Escape")
    page.wait_for("!document.getElementById('query-dialog').open")
    assert page.run("document.activeElement.className") == "open"
    page.wait_for("location.hash === ''")
    assert page.run("document.title") != "broken"


def test_every_value_and_result_is_decoded(page, make_report, tmp_path):
    names = ["nDCG@10", "RR@10", "MeanRank"]
    report = make_report({mode: dict.fromkeys(names, 0.4) for mode in ("a", "b")})
    ids = [f"q{number}" for number in range(700)]
    # Many values, few values, and large ones; some are undefined.
    values = [[number / 700, number % 7 / 7, number * 1234.5] for number in range(700)]
    rows = [
        (mode, query_id, name, None if number % 50 == place else value + place)
        for place, mode in enumerate(report.modes)
        for number, query_id in enumerate(ids)
        for name, value in zip(names, values[number], strict=True)
    ]
    evidence = make_evidence(report, {query_id: f"text of {query_id}" for query_id in ids})
    columns = ["run", "query_id", "measure", "value"]
    path = tmp_path / "values.html"
    table = pl.DataFrame(rows, schema=columns, orient="row")
    path.write_text(render_html(report, replace(evidence, per_query=table)), encoding="utf-8")
    page.open(path)
    for place, name in enumerate(names):
        found = page.run(
            f"reportPage.queries.valuesOf({place}).map((one) =>"
            " [...one].map((value) => (Number.isNaN(value) ? null : value)))"
        )
        expected = table.filter(pl.col("measure") == name)["value"].to_list()
        undefined = [number for number, value in enumerate(expected) if value is None]
        shown = [*found[0], *found[1]]
        assert [number for number, value in enumerate(shown) if value is None] == undefined
        defined = [value for value in expected if value is not None]
        assert [value for value in shown if value is not None] == pytest.approx(defined, rel=1e-6)
    assert page.run("reportPage.queries.resultsOf(1, 699)") == [
        ["d1", "A title", None],
        ["d2", "", 2],
    ]
    assert page.run("reportPage.queries.queries[699]") == ["q699", "text of q699"]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page, file, axe, scheme, width):
    page.prefer(prefers_color_scheme=scheme)
    page.open(file, width)
    open_all(page)
    page.run(axe + "; 0")
    violations = (
        "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations"
        ".map((rule) => [rule.impact, rule.id, rule.nodes.map((node) => node.target.join(' '))]))"
    )
    assert page.run(violations) == []
    page.run("document.querySelector('button.open').click()")
    assert page.run(violations) == []


def test_everything_is_printed(page, file):
    page.open(file)
    choose(page, "measure", "1")
    page.call("Emulation.setEmulatedMedia", media="print")
    hidden = "getComputedStyle(document.querySelector('{}')).display"
    for control in ("#measure", ".controls", "#unfold", "#plot-pair", ".pages"):
        assert page.run(hidden.format(control)) == "none"
    assert page.run(hidden.format(".bar .printed")) == "block"
    assert text_of(page, ".bar .printed") == "Measure: RR@10"
    page.call("Emulation.setEmulatedMedia", media="")
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run("[...document.querySelectorAll('details')].every((one) => one.open)")
    assert len(first_cells(page, "#query-table")) == QUERIES
    page.run("dispatchEvent(new Event('afterprint'))")
    assert not page.run("[...document.querySelectorAll('details')].some((one) => one.open)")
    assert len(first_cells(page, "#query-table")) == 25
    pdf = base64.b64decode(page.call("Page.printToPDF", printBackground=False)["data"])
    assert pdf.startswith(b"%PDF")


def test_the_page_can_be_read_without_scripts(page, file):
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.open(file)
    page.call("Emulation.setScriptExecutionDisabled", value=False)
    hidden = "getComputedStyle(document.querySelector('{}')).display"
    for part in ("#bar", "#query-controls", "#query-table", "#plot"):
        assert page.run(hidden.format(part)) == "none", part
    assert "0.3417" in text_of(page, "#result tbody tr:last-child")
    assert "[0.312, 0.372]" in text_of(page, "#result tbody tr:last-child")
    assert "+0.0190" in text_of(page, "#differences tbody")
    assert page.run("document.querySelectorAll('noscript').length") == 1
