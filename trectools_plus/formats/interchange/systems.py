"""Find the column that names the system of each row, in a table with the results of several.

Such a column explains why a table repeats documents of a query: each of its values has them once.
The name of a column is only a hint. In judgments, such a column is the type of judgment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.columns.decimals import DECIMAL, INTEGER
from trectools_plus.formats.interchange.names import normalize
from trectools_plus.text import quoted, visible

_MIN_COVERAGE = 0.5
"""The share of the queries that each system answers, if the name of the column is no hint."""
_MAX_INNER = 0.1
"""The share of the repeated documents that may stay unexplained if the name is no hint."""
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
        more = ", …" if len(self.values) > _SHOWN else ""
        values = ", ".join(visible(value) or "''" for value in self.values[:_SHOWN])
        return f"column {quoted(self.columns[0])} ({values}{more})"

    @property
    def remedy(self) -> str:
        """The ways to make clear whether the column names systems."""
        if len(self.columns) > 1:
            return "keep the rows of one system, or write the names of the systems into one column"
        return (
            f"if each value is a run, add --columns {quote(f'system={self.columns[0]}')}; if not, "
            "remove the column"
        )

    def __str__(self) -> str:
        """Return what the column shows, as a clause."""
        if self.is_clear:
            return f"{self.shown} names {len(self.values):,} systems"
        together = " together" if len(self.columns) > 1 else ""
        return (
            f"{self.shown} may name systems{together}, because queries are repeated for its values"
        )


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
        rows: ``query_id``, ``doc_id``, optionally ``rank``, and the candidates, as texts.
        candidates: The names of further columns in the file, with those in ``rows``.
        hints: Names that such a column often has, in order of preference.
        named: The column in ``rows`` that names systems, if the user said so.

    Returns:
        The column, or the columns of which it is unclear; ``None`` if the rows are of one system.
    """
    if named is not None:
        name = next(name for name, column in candidates.items() if column == named)
        values = tuple(rows[named].unique(maintain_order=True).to_list())
        return Systems((name,), values, is_clear=True) if len(values) > 1 else None
    return _Finder(rows, candidates, hints).find()


class _Finder:
    def __init__(
        self, rows: pl.DataFrame, candidates: Mapping[str, str], hints: Sequence[str]
    ) -> None:
        self.rows = rows
        self.places = {name: at for name, at in candidates.items() if self._may_distinguish(at)}
        order = {normalize(hint): number for number, hint in enumerate(hints)}
        named = [name for name in self.places if normalize(name) in order]
        self.hinted = sorted(named, key=lambda name: order[normalize(name)])
        self.others = [name for name in self.places if name not in self.hinted]

    def find(self) -> Systems | None:
        if not self.places:
            return None
        n_repeats = self.rows.height - self._count()
        if not n_repeats:
            return self._without_repeats()
        inner = {name: self.rows.height - self._count(name) for name in self.places}
        explaining = [name for name in self.hinted if not inner[name]]
        if explaining:
            usual = [name for name in explaining if self._coverage(name).max() >= _MIN_COVERAGE]
            return self._one_of(usual) if usual else self._unclear(explaining)
        helpful = [name for name in self.hinted if inner[name] < n_repeats]
        if helpful:
            best = min(helpful, key=inner.__getitem__)
            further = [
                name for name in (*self.hinted, *self.others) if name != best and self._groups(name)
            ]
            complete = [name for name in further if self._count(best, name) == self.rows.height]
            return Systems((best, complete[0])) if complete else self._clear(best)
        explaining = [name for name in self.others if not inner[name] and self._groups(name)]
        certain = [name for name in explaining if self._is_certain(name)]
        if certain:
            return self._one_of(certain)
        few = _MAX_INNER * n_repeats
        explaining = explaining or [
            name for name in self.others if inner[name] <= few and self._is_certain(name)
        ]
        return self._unclear(explaining) if explaining else None

    def _without_repeats(self) -> Systems | None:
        """Look at columns with a usual name in a table that repeats no document of a query."""
        for name in self.hinted:
            if self._is_row_number(name) or not self._answers_same_queries(name):
                continue
            certain = self._restarts_ranks(name) or self._is_grouped(name)
            return self._clear(name) if certain else self._unclear([name])
        return None

    def _one_of(self, names: Sequence[str]) -> Systems:
        """Choose the first column, if all columns group the rows in the same way."""
        first = self._n_values(names[0])
        same = all(
            self._n_values(name) == first == self._n_values(names[0], name) for name in names[1:]
        )
        return self._clear(names[0]) if same else self._unclear(names)

    def _clear(self, name: str) -> Systems:
        return Systems((name,), self._values(name), is_clear=True)

    def _unclear(self, names: Sequence[str]) -> Systems:
        return Systems(tuple(names), self._values(names[0]) if len(names) == 1 else ())

    def _values(self, name: str) -> tuple[str, ...]:
        return tuple(self.rows[self.places[name]].unique(maintain_order=True).to_list())

    def _may_distinguish(self, place: str) -> bool:
        """Return whether a column has several values that are not all decimal numbers."""
        column = self.rows[place]
        if not column.len() or column.n_unique() < 2:
            return False
        numbers = column.str.contains(DECIMAL)
        return not bool(numbers.all()) or bool(column.str.contains(INTEGER).all())

    def _is_row_number(self, name: str) -> bool:
        return self._n_values(name) == self.rows.height

    def _groups(self, name: str) -> bool:
        """Return whether each value has several rows, so that it is no number of a row."""
        sizes = self.rows[self.places[name]].value_counts()["count"].to_numpy()
        return bool(sizes.min() > 1)

    def _is_certain(self, name: str) -> bool:
        """Return whether each value of a column of any name answers most queries."""
        place = self.places[name]
        if not self._groups(name) or bool(self.rows[place].str.contains(INTEGER).all()):
            return False
        return bool(self._coverage(name).min() >= _MIN_COVERAGE)

    def _coverage(self, name: str) -> npt.NDArray[np.float64]:
        """Return the share of the queries that each value of a column answers."""
        answered = self.rows.group_by(self.places[name]).agg(n=pl.col("query_id").n_unique())
        shares: npt.NDArray[np.float64] = (
            answered["n"].to_numpy() / self.rows["query_id"].n_unique()
        )
        return shares

    def _answers_same_queries(self, name: str) -> bool:
        """Return whether most queries have rows of several values."""
        per_query = self.rows.group_by("query_id").agg(n=pl.col(self.places[name]).n_unique())
        return bool((per_query["n"] > 1).sum() > _MIN_COVERAGE * per_query.height)

    def _restarts_ranks(self, name: str) -> bool:
        """Return whether ranks occur again in a query, but never for the same value."""
        if "rank" not in self.rows.columns:
            return False
        ranks = self.rows.select("query_id", "rank")
        if not ranks.is_duplicated().any():
            return False
        return not self.rows.select("query_id", "rank", self.places[name]).is_duplicated().any()

    def _is_grouped(self, name: str) -> bool:
        """Return whether the rows of a query are listed value by value, not merged by score."""
        if self._coverage(name).min() < _MIN_COVERAGE:
            return False
        value = pl.col(self.places[name])
        changes = (value != value.shift()).sum()
        per_query = self.rows.group_by("query_id").agg(
            is_grouped=changes == value.n_unique() - 1, is_list=pl.len() > value.n_unique()
        )
        return bool(per_query["is_grouped"].all() and per_query["is_list"].any())

    def _count(self, *names: str) -> int:
        """Count the different combinations of query, document and these columns."""
        columns = ["query_id", "doc_id", *(self.places[name] for name in names)]
        return int(self.rows.select(columns).hash_rows().n_unique())

    def _n_values(self, *names: str) -> int:
        return int(self.rows.select(self.places[name] for name in names).hash_rows().n_unique())
