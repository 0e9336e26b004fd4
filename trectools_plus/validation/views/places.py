"""The places of a file that break a rule, and the sentences about them."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.columns.columns import OddLines
from trectools_plus.formats.columns.ids import Rows
from trectools_plus.text import number, plural, quoted, visible
from trectools_plus.validation.views.order import Pairs

if TYPE_CHECKING:
    import polars as pl

Value = str | int | float
Lines = Sequence[int] | npt.NDArray[np.uint32]

LINES_KEPT = 5
"""Number of line numbers in a finding, unless all lines are requested."""


class LineNumber(int):
    """The number of a line, from 1, which depends on the lines before a part of the file."""

    def __str__(self) -> str:
        return f"line {int(self)}"


@dataclass(frozen=True, slots=True)
class Places:
    """The places of a file, or of a part of one, that break a rule.

    Attributes:
        count: The number of places.
        lines: Their lines, or the first few of a part of a file; empty for a table.
        column: The character column of the first place, from 1.
        query_id: The query of the first place.
        doc_id: The document of the first place.
        first: The words about the first place, for templates.
    """

    count: int = 0
    lines: Lines = ()
    column: int | None = None
    query_id: str | None = None
    doc_id: str | None = None
    first: Mapping[str, Value] = field(default_factory=dict)

    def first_few(self) -> Places:
        """Return the places without most of their lines."""
        return replace(self, lines=tuple(map(int, self.lines[:LINES_KEPT])))

    def __add__(self, later: Places) -> Places:
        """Return the places of two parts of a file, given in the order of the file."""
        lines = (*self.lines, *later.lines)[:LINES_KEPT]
        first = self if self.count else later
        return replace(first, count=self.count + later.count, lines=lines)

    def moved(self, n_lines: int) -> Places:
        """Return the places in a file with ``n_lines`` lines before this part."""
        first = {
            name: LineNumber(value + n_lines) if isinstance(value, LineNumber) else value
            for name, value in self.first.items()
        }
        return replace(self, lines=tuple(line + n_lines for line in self.lines), first=first)


N_SHOWN_IDS = 3
"""Number of document ids of a file that are shown if no document is judged."""


class PairFacts(NamedTuple):
    """Facts about the documents of the judged queries of a run, or of a chunk of one.

    Attributes:
        n_documents: Their number.
        n_judged: The number of judged ones, for scoring only down to the depth that is needed.
        n_shown: The number of documents in the first ``JUDGED_CUTOFF`` of their queries.
        n_judged_shown: The number of judged ones among these.
        n_common: Above 0 if a document of the run is judged for any query.
        unjudged: Some documents, if none is judged.
        near: The unjudged documents that are judged in another spelling.
        tie_change: The sum of the differences of AP between the best and the worst order of ties.
        n_tie_changes: The number of queries with such a difference.
    """

    n_documents: int = 0
    n_judged: int = 0
    n_shown: int = 0
    n_judged_shown: int = 0
    n_common: int = 0
    unjudged: tuple[str, ...] = ()
    near: Places = Places()
    tie_change: float = 0.0
    n_tie_changes: int = 0

    def plus(self, later: PairFacts) -> PairFacts:
        """Return the facts about two chunks with different queries, in the order of the file."""
        return PairFacts(*map(add, self, later))

    def moved(self, n_lines: int) -> PairFacts:
        """Return the facts in a file with ``n_lines`` lines before this part."""
        return self._replace(near=self.near.moved(n_lines))


Found: TypeAlias = "Rows | Pairs | OddLines | Places | pl.DataFrame | int"
"""Rows, rows with others, lines that are not rows, rows of a table with a column ``line``, or a
number."""


def places_of(view: Any, found: Found, column: int | None = None) -> Places:
    """Return what a test found in a view as places.

    Args:
        view: The view of the file with the rows or lines.
        found: The result of the test.
        column: The field (from 1) whose column is reported.
    """
    if isinstance(found, Places):
        return found
    if isinstance(found, OddLines):
        return _places_of_lines(view, found)
    if isinstance(found, int | np.integer):
        return Places(int(found))
    if not isinstance(found, np.ndarray | Pairs):
        return _places_of_table(found)
    rows = found.rows if isinstance(found, Pairs) else found
    if not len(rows):
        return Places()
    at = int(rows.argmin())
    row = int(rows[at])
    shown: dict[str, Value] = view.fields_of(row)
    if isinstance(found, Pairs):
        other = view.fields_of(int(found.others[at]))
        shown |= {f"other_{name}": value for name, value in other.items()}
    return Places(
        len(rows),
        view.lines(np.sort(rows)),
        None if column is None else view.column(row, column),
        None if column in _OF_ALL_QUERIES else view.blocks.query_id(row),
        view.doc_ids.text(row) if column in _OF_DOCUMENTS else None,
        shown,
    )


_OF_ALL_QUERIES, _OF_DOCUMENTS = (2, 6), (3, 4, 5)
"""Columns whose problems do not concern a query, and those that concern a document."""


def _places_of_table(found: pl.DataFrame) -> Places:
    if found.is_empty():
        return Places()
    first = found.row(0, named=True)
    shown = {name: "" if value is None else value for name, value in first.items()}
    query_id, doc_id = first.get("query_id"), first.get("doc_id")
    return Places(found.height, found["line"].to_list(), None, query_id, doc_id, shown)


def _places_of_lines(view: Any, found: OddLines) -> Places:
    if not len(found):
        return Places()
    lines = found.line if view.columns.origin is None or view.columns.origin.has_lines else ()
    shown: dict[str, Value] = {"n_fields": int(found.n_fields[0]), "text": found.text[0]}
    return Places(len(found), lines, first=shown)


def sentence(template: str, values: Mapping[str, Any]) -> str:
    """Fill in a template; its parts in brackets are kept for several places."""
    kept = r"\1" if values["count"] > 1 else ""
    return _FORMATTER.vformat(re.sub(r"\[(.*?)\]", kept, template), (), values)


class _Formatter(string.Formatter):
    """``{id!v}`` makes an id visible, ``{id!m}`` also its marks, ``{text!q}`` quotes it.

    ``{n:row}`` adds a noun.
    """

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        convert = _CONVERSIONS.get(conversion or "")
        return convert(str(value)) if convert else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec:
            return plural(value, *format_spec.split("|"))
        if isinstance(value, float):
            return number(round(value, 4))
        return f"{value:,}" if type(value) is int else str(value)


_FORMATTER = _Formatter()
_CONVERSIONS: dict[str, Callable[[str], str]] = {
    "v": visible,
    "q": quoted,
    "m": partial(visible, marks=True),
}
