"""Random runs and qrels as text: mostly regular, with anything that occurs in such files."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

QUERY_IDS = (
    "1",
    "7",
    "q1",
    "q2",
    "PLAIN-2",
    "clueweb12-0000wb-1",
    "MB051",
    "301",
    "a" * 20,
    "a" * 21,
)
DOC_FORMS = (
    "d{}", "{}", "D{}", "MED-{}", "clueweb12-0000tw-00-{:05}", "FBIS3-{}", "doc_{:012}",
    "NCT0{}", "n{}", "1{}-x", "x" * 30 + "{}", "GX{:03}-00-{:07}",
)  # fmt: skip
SCORE_FORMS = (
    "{:.6f}", "{:.1f}", "{:.0f}", "{}", "{:.3e}", "{:.17g}", "-{:.4f}", "{:.9f}", "{:.12f}", "{:g}",
)  # fmt: skip


@st.composite
def regular_runs(draw: Any) -> str:
    """Runs whose lines have six fields, whose scores never rise and whose ranks count up."""
    separator = draw(st.sampled_from("  \t"))
    second = draw(st.sampled_from(["Q0", "Q0", "Q0", "0", "Q0x", "q0"]))
    tag = draw(st.sampled_from(["bm25", "t", "my-run_2.x", "a+b", "x" * 30]))
    first_rank = draw(st.sampled_from([1, 1, 1, 0]))
    form = draw(st.sampled_from(SCORE_FORMS))
    doc_form = draw(st.sampled_from(DOC_FORMS))
    step = draw(st.sampled_from([1.0, 0.25, 1e-3, 1e-9, 0.0]))
    top = draw(st.floats(0, 1e6, allow_subnormal=False))
    lines = []
    for query_id in draw(st.lists(st.sampled_from(QUERY_IDS), min_size=1, max_size=4, unique=True)):
        n_rows = draw(st.integers(1, 12))
        numbers = draw(st.permutations(range(n_rows)))
        level = top
        for place, number in enumerate(numbers):
            level -= step * draw(st.sampled_from([0, 1, 1, 1, 1, 1, 2]))
            score = form.format(level if not form.startswith("-") else top - level)
            doc_id = doc_form.format(number, number)
            fields = (query_id, second, doc_id, str(first_rank + place), score, tag)
            lines.append(separator.join(fields))
    end = draw(st.sampled_from(["\n", "\n", "\n", "\r\n"]))
    return end.join(lines) + draw(st.sampled_from([end, end, end, ""]))


CHARACTERS = '\n\n \t\r\0\x0b\x0c\x7f\xa0é#.,;-+eE0159axQ\ufeff"{'


@st.composite
def changed(draw: Any, texts: Any) -> str:
    """Texts with a few characters replaced, inserted or deleted, or lines moved."""
    text = draw(texts)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        new = draw(st.sampled_from(CHARACTERS))
        text = text[:at] + new + text[at + draw(st.integers(0, 1)) :]
    if draw(st.integers(0, 4)) == 0:
        lines = text.splitlines(keepends=True)
        text = "".join(draw(st.permutations(lines)))
    if draw(st.integers(0, 3)) == 0:
        lines = text.splitlines(keepends=True)
        at = draw(st.integers(0, len(lines)))
        lines[at:at] = draw(st.sampled_from([["\n"], ["# one\n"], ["#\r\n"], [" \t\n", "#a b\n"]]))
        text = "".join(lines)
    if draw(st.integers(0, 3)) == 0:
        text = text.replace(
            " ", draw(st.sampled_from(["  ", "\t", " \t"])), draw(st.integers(1, 9))
        )
    if draw(st.integers(0, 9)) == 0:
        text += draw(st.sampled_from(text.splitlines(keepends=True) or [""]))
    return text
