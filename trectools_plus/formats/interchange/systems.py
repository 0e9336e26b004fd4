"""Find the column that names the system of each row, in a table with the results of several.

Such a column has a usual name, and explains why a table repeats documents of a query: each of its
values has them once. In judgments, such a column is the type of judgment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.interchange.names import normalize
from trectools_plus.text import listed, quoted

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Systems:
    """The column that names the systems of a table.

    Attributes:
        columns: Its name; several names if no single column can be chosen.
        values: Its values, in the order of the table; empty for several columns.
        is_clear: Whether each value certainly is a system.
    """

    columns: tuple[str, ...]
    values: tuple[str, ...] = ()
    is_clear: bool = False

    @property
    def shown(self) -> str:
        """The column and its values, for messages: ``column 'model' (BM25, DPH)``."""
        if len(self.columns) > 1:
            return f"columns {' and '.join(map(quoted, self.columns))}"
        return f"column {quoted(self.columns[0])} ({listed(self.values, _SHOWN)})"

    @property
    def remedy(self) -> str:
        """The way to make clear whether the column names systems."""
        name = quote(f"system={self.columns[0]}")
        return f"if each value is a run, add --columns {name}; if not, remove the column"

    def __str__(self) -> str:
        """Return what the column shows, as a clause."""
        if self.is_clear:
            return f"{self.shown} names {len(self.values):,} systems"
        return f"{self.shown} may name systems, because queries are repeated for its values"


def refuse_systems(systems: Systems, path: str) -> FormatError:
    """Return the error for a table of several systems where one run is needed."""
    if not systems.is_clear:
        return FormatError(str(systems), path=path, remedy=systems.remedy)
    return FormatError(
        f"{systems}, but one run is needed here",
        path=path,
        remedy=f"write a file for each: trectools-plus runs convert {quote(path)} --output FOLDER",
    )


def find_systems(
    rows: pl.DataFrame,
    candidates: Mapping[str, str],
    hints: Sequence[str],
    named: str | None = None,
) -> Systems | None:
    """Find the column that names systems.

    A single column with a usual name certainly names systems if it explains repeated documents, or
    if each of its values has ranks of its own. Of several, the user chooses one.

    Args:
        rows: ``query_id``, ``doc_id``, optionally ``rank``, and the candidates, as texts.
        candidates: The names of further columns in the file, with those in ``rows``.
        hints: Names that such a column often has.
        named: The column in ``rows`` that names systems, if the user said so.

    Returns:
        The column, or the columns of which it is unclear; ``None`` if the rows are of one system.
    """
    usual = set(map(normalize, hints))
    chosen = {
        name: column
        for name, column in candidates.items()
        if (column == named if named else normalize(name) in usual and _varies(rows, column))
    }
    values = {name: tuple(rows[at].unique(maintain_order=True)) for name, at in chosen.items()}
    several = [name for name in chosen if len(values[name]) > 1]
    if len(several) > 1:
        return Systems(tuple(several))
    for name in several:
        return Systems((name,), values[name], bool(named) or _separates(rows, chosen[name]))
    return None


def _varies(rows: pl.DataFrame, column: str) -> bool:
    """Return whether a query has rows of several values, and a value has several rows."""
    n_pairs, n_queries = rows.select("query_id", column).n_unique(), rows["query_id"].n_unique()
    return n_pairs > n_queries and rows[column].n_unique() < rows.height


def _n_repeats(rows: pl.DataFrame, *columns: str) -> int:
    """Return the number of rows whose values in these columns their query has in an earlier row."""
    return rows.height - int(rows.select("query_id", *columns).hash_rows().n_unique())


def _separates(rows: pl.DataFrame, column: str) -> bool:
    """Return whether the values of a column explain why documents, or else ranks, are repeated.

    Documents that a system repeats itself are errors of this system.
    """
    n_repeats = _n_repeats(rows, "doc_id")
    if n_repeats or "rank" not in rows.columns:
        return _n_repeats(rows, "doc_id", column) < n_repeats
    return _n_repeats(rows, "rank", column) == 0 < _n_repeats(rows, "rank")
