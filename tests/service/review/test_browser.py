"""The page in a real browser: a whole query by keys, a reload in the middle, undo, two people."""

from contextlib import closing

import pytest
from harness.review_page import (
    begin,
    is_saved,
    press,
    reload,
    start_anew,
    state,
    worked,
)

from trectools_plus.judging.judgments import find_annotator, read_all_judgments
from trectools_plus.judging.store import read_store

pytestmark = [pytest.mark.process, pytest.mark.slow("starts a browser")]


def judged(database, name):
    with closing(read_store(database)) as store:
        who = find_annotator(store, name)
        return read_all_judgments(store, who)


def test_a_whole_query_by_keys_with_a_reload_in_the_middle(page, serve, report):
    server = serve(report, "--depth", 4, seed=1)
    page.prefer(prefers_color_scheme="light")
    start_anew(page, server.url)
    begin(page, "Anna")
    worked(page)
    results = page.run("view.state.progress.results")
    assert results > 4
    # Two grades, a flag, and then the page is loaded anew.
    press(page, "3")
    is_saved(page, "Graded 3")
    press(page, "0")
    is_saved(page, "Graded 0")
    press(page, "x")
    is_saved(page, "Flagged")
    before = state(page)
    assert sorted((one["grade"], one["flagged"]) for one in before["grades"].values()) == [
        (0, False), (0, True), (3, False)
    ]  # fmt: skip
    reload(page)
    worked(page)
    after = state(page)
    assert (after["grades"], after["number"]) == (before["grades"], before["number"])
    assert page.run("document.querySelectorAll('.flag[aria-pressed=true]').length") >= 1
    # The rest; the cursor goes to what has no grade yet.
    for done in range(3, results):
        press(page, "2")
        page.wait_for(f"state.progress.judged === {done + 1}")
    assert not state(page)["progress"]["complete"]
    press(page, "c")
    is_saved(page, "chosen. Saved.")
    found = state(page)
    assert found["progress"]["complete"]
    assert found["choice"] == page.run("view.columns[at.column].label")
    assert page.run("document.querySelectorAll('.column.chosen h2').length") == 1
    assert page.run("document.getElementById('meter').value") == 1
    # What the file holds is what was said.
    query_id = page.run("view.query_id")
    kept = judged(report / "review.db", "Anna")[query_id]
    assert {doc_id: (one.grade, one.flagged) for doc_id, one in kept.grades.items()} == {
        doc_id: (one["grade"], one["flagged"]) for doc_id, one in found["grades"].items()
    }
    assert kept.choice in ("lexical", "vector", "hybrid")
    # Undo: the choice, then the last grade; also over a query's end.
    press(page, "u")
    is_saved(page, "choice was undone")
    assert state(page)["choice"] is None
    press(page, "n")
    page.wait_for("view.query === 2")
    press(page, "u")
    is_saved(page, "grade was undone")
    assert state(page)["number"] == 1
    assert state(page)["progress"]["judged"] == results - 1
    assert len(judged(report / "review.db", "Anna")[query_id].grades) == results - 1
    assert page.problems == []
    assert {url.startswith((server.url, "data:", "about:")) for url in page.requests} == {True}


def test_every_key_of_the_help_does_what_it_says(page, serve, report):
    server = serve(report, "--depth", 4, seed=1)
    start_anew(page, server.url)
    begin(page, "Anna")
    worked(page)
    press(page, "?")
    assert page.run("document.getElementById('keys').open")
    press(page, "2")
    press(page, "Escape")
    page.wait_for("!document.getElementById('keys').open")
    assert state(page)["grades"] == {}, "keys do nothing behind the help"
    for key, place in (
        ("j", (0, 1)), ("ArrowDown", (0, 2)), ("k", (0, 1)), ("ArrowUp", (0, 0)),
        ("ArrowUp", (0, 0)), ("l", (1, 0)), ("ArrowRight", (2, 0)), ("ArrowRight", (2, 0)),
        ("h", (1, 0)), ("ArrowLeft", (0, 0)),
    ):  # fmt: skip
        press(page, key)
        at = state(page)["at"]
        assert (at["column"], at["row"]) == place, key
        assert page.run("document.activeElement === itemAt(at)")
    press(page, "o")
    assert page.run("itemAt(at).classList.contains('open')")
    press(page, "o")
    assert not page.run("itemAt(at).classList.contains('open')")
    press(page, "1")
    is_saved(page, "Graded 1")
    press(page, "ArrowUp", "Delete")
    is_saved(page, "removed")
    assert state(page)["grades"] == {}
    press(page, "x")
    is_saved(page, "Flagged")
    press(page, "ArrowUp", "x")
    is_saved(page, "removed")
    press(page, "n")
    page.wait_for("view.query === 2")
    press(page, "p")
    page.wait_for("view.query === 1")
    press(page, "g")
    page.wait_for("view.query === 2")
    # Keys can be switched off, for those whose speech or software presses them.
    press(page, "?")
    page.run("document.getElementById('single').click()")
    press(page, "Escape")
    page.wait_for("!document.getElementById('keys').open")
    press(page, "3", "n")
    page.run("saving")
    assert (state(page)["grades"], state(page)["number"]) == ({}, 2)
    page.run("document.getElementById('single').click()")
    assert page.problems == []


def test_a_server_that_is_gone_is_said_so(page, serve, report):
    server = serve(report, "--depth", 3)
    start_anew(page, server.url)
    begin(page, "Anna")
    worked(page)
    server.kill()
    press(page, "3")
    page.wait_for("document.getElementById('trouble').textContent.startsWith('Not saved')")
    assert page.run("document.querySelectorAll('.grades [aria-pressed=true]').length") == 0
