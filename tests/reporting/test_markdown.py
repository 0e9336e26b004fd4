"""The Markdown: the contracted head, marks that agree with the figures, nothing left to chance."""

import re

from trectools_plus.benchmark.report import Diagnosis, FailingQuery
from trectools_plus.reporting import render_markdown


def rows_of(text, heading=None):
    """The cells of the first table (below a heading)."""
    if heading is not None:
        text = text.split(f"## {heading}\n", 1)[1]
    lines = iter(text.splitlines())
    table = []
    for line in lines:
        if line.startswith("|"):
            table.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif table:
            break
    return table


def test_it_opens_with_title_verdict_and_headline_table(make_report):
    text = render_markdown(make_report())
    title, verdict, method, table = text.split("\n\n")[:4]
    assert title == "# Benchmark of irds:cranfield · 225 queries"
    assert verdict == (
        "**Hybrid scores highest on nDCG@10: 0.342, +0.019 over Lexical-Only [−0.001, +0.039]; not "
        "significant with 225 queries.**"
    )
    assert method.startswith("Paired t-test, Holm over 3 comparisons on one measure: ")
    assert table.startswith(
        "| Metric | Lexical-Only ᵃ | Vector-Only ᵇ | Hybrid ᶜ | Best Mode |\n| --- | ---: |"
    )
    rows = {row[0]: row[1:] for row in rows_of(text)}
    assert rows["nDCG@10"] == [
        "0.3227 [0.293, 0.353] ᵇ",
        "0.2966 [0.267, 0.327]",
        "**0.3417 [0.312, 0.372]** ᵇ",
        "Hybrid n.s.",
    ]


def test_a_significant_best_mode_is_starred_and_explained(make_report):
    text = render_markdown(make_report({"one": {"RR@10": 0.2}, "two": {"RR@10": 0.5}}))
    assert rows_of(text)[2] == [
        "RR@10",
        "0.2000 [0.170, 0.230]",
        "**0.5000 [0.470, 0.530]** ᵃ",
        r"two \*",
    ]
    assert "\\*: significantly ahead" in text
    assert "A letter: significantly better than the mode with that letter." in text


def test_every_section_is_there_in_order(make_report):
    headings = re.findall(r"^## (.+)$", render_markdown(make_report()), re.MULTILINE)
    assert headings == [
        "Targets",
        "Paired differences",
        "Diagnostics",
        "Definitions",
        "Settings",
        "Reported by the writer, not verified",
    ]


def test_targets_show_the_status_of_each_mode(make_report):
    modes = {"a": {"nDCG@10": 0.2}, "b": {"nDCG@10": 0.5}, "c": {"nDCG@10": None}}
    [_, _, row] = rows_of(render_markdown(make_report(modes, comparisons=[])), "Targets")
    assert row[1:] == ["below baseline", "strong", "undefined"]


def test_text_from_outside_cannot_break_the_page(make_report):
    failing = FailingQuery(
        query_id="q|1",
        text="a | b\n<script>alert(1)</script>",
        measure="nDCG@10",
        values={"lexical": 0, "vector": 0, "hybrid": 0},
        first_relevant_rank={"lexical": None, "vector": 12, "hybrid": 40},
    )
    text = render_markdown(make_report(failing_queries=[failing]))
    assert "<script>" not in text
    row = rows_of(text, "Queries that fail in every mode")[2]
    assert row[0] == r"q\|1"
    assert row[2:] == ["not found", "rank 12", "rank 40"]


def test_incomplete_modes_stand_right_below_the_table(make_report):
    diagnostics = {"status": "incomplete", "notes": ["no results for 3 of 225 queries (1, 2, 3)"]}
    head = render_markdown(make_report(diagnostics=diagnostics)).split("## ")[0]
    assert "and Hybrid (incomplete): no results for 3 of 225 queries" in head


def test_diagnosis_is_written_in_sentences(make_report):
    item = Diagnosis(mode="vector", sign="low-ndcg", observed="low nDCG", suggests="re-rank")
    text = render_markdown(make_report(diagnosis=[item]))
    assert "- Vector-Only: low nDCG. This suggests: re-rank." in text
    assert "## Diagnosis" in text
    assert "## Diagnosis" not in render_markdown(make_report())


def test_settings_are_a_table(make_report):
    rows = rows_of(render_markdown(make_report()), "Settings")
    assert rows[2:] == [["seed", "42"], ["missing", '"zero"']]


def test_a_single_mode_needs_no_comparison(make_report):
    text = render_markdown(make_report({"lexical": {"RR@10": 0.4}}))
    assert rows_of(text)[2] == ["RR@10", "0.4000 [0.370, 0.430]", "–"]
    assert "Paired differences" not in text
    assert "Bold" not in text
