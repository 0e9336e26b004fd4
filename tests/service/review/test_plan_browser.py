"""A plan in a real browser: grades by keys, documents without a grade, the end of the plan."""

import pytest
from harness.plans import make_small
from harness.review_page import begin, is_saved, press, reload, start_anew, worked

from trectools_plus.judging.labels import read_people
from trectools_plus.judging.values import find_complete

pytestmark = [pytest.mark.process, pytest.mark.slow("starts a browser")]


@pytest.fixture
def plan(tmp_path):
    return make_small(tmp_path, 6, people=2)


def text(page, element):
    return str(page.run(f"document.getElementById('{element}').textContent"))


def visible(page, selector):
    return int(
        page.run(
            f"[...document.querySelectorAll('{selector}')].filter((one) => one.checkVisibility())"
            ".length"
        )
    )


def grade_all(page, key):
    first = page.run("state.progress.judged") + 1
    for done in range(first, page.run("state.progress.results") + 1):
        press(page, key)
        page.wait_for(f"state.progress.judged === {done}")
    page.run("saving")


def test_a_plan_is_judged_by_keys(page, serve, plan):
    server = serve(plan.path)
    page.prefer(prefers_color_scheme="light")
    start_anew(page, server.url)
    page.wait_for("document.getElementById('intro').textContent.includes('2 queries are planned')")
    begin(page, "Anna")
    worked(page)
    results = page.run("view.state.progress.results")
    assert text(page, "where").startswith("Query 1 of 2")
    assert f"here 0 of {results} documents" in text(page, "count")
    # Nothing of a comparison of search methods is on the page.
    for selector in (".head", ".best", ".flag", ".rank", "#none", ".of-report"):
        assert visible(page, selector) == 0, selector
    assert visible(page, ".missing") == results
    for key in ("b", "c", "=", "l", "h"):
        press(page, key)
    page.run("saving")
    assert page.run("state.choice === null && state.result === null")
    # The next query is not offered yet.
    assert page.run("document.getElementById('next').disabled")
    press(page, "n", "3")
    is_saved(page, "Graded 3")
    assert page.run("view.query") == 1
    grade_all(page, "2")
    assert "1 of 2 queries complete" in text(page, "count")
    assert not page.run("document.getElementById('next').disabled")
    press(page, "Enter")
    page.wait_for("view.query === 2")
    reload(page)
    worked(page)
    page.wait_for("view.query === 2")
    grade_all(page, "0")
    assert visible(page, "#plan-done") == 1
    assert "The plan is complete: 2 queries are judged" in text(page, "plan-done")
    press(page, "Enter")
    page.wait_for("view.query === 3")
    assert text(page, "where").startswith("Query 3, beyond the plan")
    for query in range(3, 7):
        page.wait_for(f"view.query === {query}")
        grade_all(page, "1")
        press(page, "Enter")
    page.run("saving")
    assert "You can still change your answers" in text(page, "plan-done")
    assert list(find_complete(plan, read_people(plan.path)).grades) == plan.plan.queries
    assert page.problems == []
    assert {url.startswith((server.url, "data:", "about:")) for url in page.requests} == {True}
