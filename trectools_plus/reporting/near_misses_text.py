"""Near misses in the words of every rendering."""

from __future__ import annotations

from dataclasses import dataclass

from trectools_plus.benchmark.report import BenchmarkReport, TermLabel
from trectools_plus.text import plural

NONE_NEAR = "None: no first result is wrong and a parent, child or sibling of an expected term."


@dataclass(frozen=True, slots=True)
class NearRow:
    """One near miss as texts: ``first`` is the ``relation`` of ``expected``."""

    query_id: str
    text: str
    mode: str
    first: str
    relation: str
    expected: str


def near_rows(report: BenchmarkReport) -> list[NearRow]:
    """The near misses, terms as label and id."""
    return [
        NearRow(
            query_id=miss.query_id,
            text=miss.text or "–",
            mode=report.modes[miss.mode].label,
            first=_show_term(miss.first),
            relation=miss.relation,
            expected="; ".join(map(_show_term, miss.expected)),
        )
        for miss in report.near_misses or ()
    ]


def near_sentence(report: BenchmarkReport) -> str:
    """How many first results of each mode are near misses; empty where there are none."""
    near = report.near_misses or []
    if not near:
        return ""
    counts = {mode: sum(miss.mode == mode for miss in near) for mode in report.modes}
    of_each = ", ".join(f"{report.modes[mode].label} {count}" for mode, count in counts.items())
    queries = plural(report.manifest.dataset.queries, "query", "queries")
    return (
        "First results that are not relevant, but a parent, child or sibling of an expected term, "
        f"by mode, of {queries}: {of_each}."
    )


def _show_term(term: TermLabel) -> str:
    return f"{term.label} ({term.doc_id})" if term.label else term.doc_id
