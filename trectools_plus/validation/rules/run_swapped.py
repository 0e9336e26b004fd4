"""A rule on columns 2 and 3 of a run having changed places (R108)."""

from __future__ import annotations

from trectools_plus.text import quoted
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.run_view import RunView


class _SwappedRows:
    """The rows of all chunks; the message is about the first."""

    def add(self, run: RunView) -> Hit | None:
        """Add the rows of a chunk."""
        return columns_swapped.check(run)

    def message(self, first: str, count: int) -> str:  # noqa: ARG002
        """Return the message on the first row."""
        return first


@rule(
    "R108",
    "columns-swapped",
    on="run",
    scope="file",
    severity="error",
    fix="ask",
    checks="column 3 is 'Q0', or constant, while column 2 varies",
    rationale="Every tool takes column 3 as the document: each query then has one document, "
    "called Q0, many times over.",
    example="run.txt:1: error R108: columns 2 and 3 look swapped: 'd01' and 'Q0'. Write 'qid Q0 "
    "docid rank score tag'.",
    remedy="Write 'qid Q0 docid rank score tag'",
    chunk_count=_SwappedRows,
)
def columns_swapped(run: RunView) -> Hit | None:
    """The document ids are in column 2."""
    if not run.documents_in_column_2:
        return None
    second, third = str(run.frame["q0"][0]), run.doc_id(0)
    return Hit(
        f"columns 2 and 3 look swapped: {quoted(second)} and {quoted(third)}",
        run.lines(range(run.n_rows)),
        run.n_rows,
        run.column(0, 2),
        run.query_id(0),
    )
