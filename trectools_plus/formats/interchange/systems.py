"""The column that names the system of each row, in a table with the results of several.

The user names it. A column with a usual name, of which a query has several values, may be one: its
table is refused until the user says so. In judgments, such a column is the type of judgment.
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
        column: Its name.
        values: Its values, in the order of the table.
        is_clear: Whether the user named it.
    """

    column: str
    values: tuple[str, ...]
    is_clear: bool

    @property
    def shown(self) -> str:
        """The column and its values, for messages: ``column 'model' (BM25, DPH)``."""
        return f"column {quoted(self.column)} ({listed(self.values, _SHOWN)})"

    @property
    def remedy(self) -> str:
        """The way to make clear whether the column names systems."""
        name = quote(f"system={self.column}")
        return f"if each value is a run, add --columns {name}; if not, remove the column"

    def __str__(self) -> str:
        """Return what the column shows, as a clause."""
        if self.is_clear:
            return f"{self.shown} names {len(self.values):,} systems"
        return f"{self.shown} may name systems, because a query has several of its values"


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

    Args:
        rows: ``query_id`` and the candidates, as texts.
        candidates: The names of further columns in the file, with those in ``rows``.
        hints: Names that such a column often has.
        named: The column in ``rows`` that names systems, if the user said so.

    Returns:
        The column; ``None`` if the rows are of one system.
    """
    usual = set(map(normalize, hints))
    for name, column in candidates.items():
        if (column == named) if named else (normalize(name) in usual):
            values = tuple(rows[column].unique(maintain_order=True))
            n_pairs = rows.select("query_id", column).n_unique()
            varies = rows["query_id"].n_unique() < n_pairs and len(values) < rows.height
            if len(values) > 1 and (named or varies):
                return Systems(name, values, bool(named))
    return None
