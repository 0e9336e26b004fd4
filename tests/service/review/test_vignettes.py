"""Long queries, hostile texts, the list and adjudication, in a real browser."""

import json
import shutil
from pathlib import Path

import pytest
from harness.review_page import begin, is_accessible, is_saved, press, start_anew, worked

pytestmark = [pytest.mark.process, pytest.mark.slow("starts a browser")]

HOSTILE = (
    "<script>document.title='broken'</script><img src=x onerror=alert(1)>",
    "\u202egnp.exe \u2066quotes \" ' ` &lt;b&gt; &amp;",
    "{{ constructor.constructor('alert(1)')() }} ${7*7} <%= 1 %>",
    "x" * 500,
    "👩‍⚕️ seizure\nnext line\t\u200b",
    "نوبات صرع seizure",
)
VIGNETTE = "A girl had Séizures and a cleft palate, but no pallor. " * 20


@pytest.fixture(scope="module")
def made_cases(tmp_path_factory, write_benchmark):
    """A report on long queries and documents with hostile texts."""
    folder = tmp_path_factory.mktemp("cases")
    titles = [*HOSTILE, "Seizure cluster", "Palatal defect", "Cleft of the palates"]
    lines = [
        {"_id": f"d{place}", "title": title, "text": f"{title} palate seizures"}
        for place, title in enumerate(titles)
    ]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    topics = [{"_id": "1", "text": VIGNETTE}, {"_id": "2", "text": VIGNETTE + HOSTILE[0]}]
    (folder / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in topics))
    (folder / "qrels").mkdir()
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n1\td6\t1\n2\td6\t1\n")
    options = {"modes": ["lexical", "vector"], "measures": ["RR@10"]}
    write_benchmark(folder / "out", dataset=str(folder), **options)
    return folder / "out"


@pytest.fixture
def cases(made_cases, tmp_path):
    """A copy of its own."""
    return Path(shutil.copytree(made_cases, tmp_path / "cases"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hostile_texts_and_long_queries(page, serve, cases, axe, scheme):
    server = serve(cases, seed=1)
    page.prefer(prefers_color_scheme=scheme)
    start_anew(page, server.url, 1280)
    page.wait_for("about !== null")
    is_accessible(page, axe)
    begin(page, "Anna")
    worked(page)
    shown = page.run("[...document.querySelectorAll('.title')].map((one) => one.textContent)")
    assert {title.strip() for title in HOSTILE} <= set(shown)
    assert page.run("document.querySelectorAll('#work img, #work script, #work b').length") == 0
    # The query stays above the results.
    assert page.run("document.getElementById('question').textContent.includes('cleft palate')")
    is_accessible(page, axe)
    page.run("scrollTo(0, 600)")
    assert page.run("document.getElementById('question').getBoundingClientRect().top") >= 0
    press(page, "d")
    page.wait_for("document.activeElement.id === 'reason'")
    page.call("Input.insertText", text=HOSTILE[2])
    press(page, "Enter")
    page.wait_for("view.query === 2")
    assert page.run("progress[0].cannot_judge")
    press(page, "b")
    is_saved(page, "Result chosen")
    assert page.run("document.querySelector('.result.best').dataset.doc === state.result")
    press(page, "a")
    page.wait_for("document.getElementById('list').open")
    is_accessible(page, axe)
    assert page.run("document.querySelectorAll('dialog img, dialog script, dialog a').length") == 0
    # The list leads to another query.
    page.run("document.querySelector('#queries button').click()")
    page.wait_for("view.query === 1")
    assert page.run("document.getElementById('reason').value") == HOSTILE[2]
    page.resize(390, 900)
    page.wait_for("innerWidth === 390")
    is_accessible(page, axe)
    assert page.run("document.title") == "1 of 2 – Review"
    assert page.problems == []
    assert {url.startswith((server.url, "data:", "about:")) for url in page.requests} == {True}
