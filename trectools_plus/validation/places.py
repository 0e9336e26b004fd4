"""The places of a file that break a rule; those of several parts of the file can be added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trectools_plus.validation.registry import LINES_KEPT, Hit

Value = str | int | float


class Line(int):
    """The number of a line, from 1, which depends on the lines before a part of the file."""

    def __str__(self) -> str:
        return f"line {int(self)}"


class Row(int):
    """The number of a row of a table, from 1."""

    def __str__(self) -> str:
        return f"row {int(self)}"


@dataclass(frozen=True, slots=True)
class Places:
    """The places of a file, or of a part of one, that break a rule.

    Attributes:
        count: The number of places.
        lines: Their lines, or the first few; empty for a table.
        column: The character column of the first place, from 1.
        query_id: The query of the first place.
        doc_id: The document of the first place.
        first: What the message says about the first place.
        sums: Further numbers of places, by what they count.
    """

    count: int = 0
    lines: Sequence[int] = ()
    column: int | None = None
    query_id: str | None = None
    doc_id: str | None = None
    first: Mapping[str, Value] = field(default_factory=dict)
    sums: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Value:
        return self.first[name]

    def __add__(self, later: Places) -> Places:
        """Return the places of two parts of a file, given in the order of the file."""
        sums = {
            name: self.sums.get(name, 0) + later.sums.get(name, 0)
            for name in {**self.sums, **later.sums}
        }
        first = self if self.count else later
        lines = (*self.lines, *later.lines)[:LINES_KEPT]
        return replace(first, count=self.count + later.count, lines=lines, sums=sums)

    def moved(self, n_lines: int) -> Places:
        """Return the places in a file with ``n_lines`` lines before this part."""
        if not n_lines or not (self.lines or self.first):
            return self
        first = {
            name: Line(value + n_lines) if isinstance(value, Line) else value
            for name, value in self.first.items()
        }
        lines = tuple(line + n_lines for line in self.lines)
        return replace(self, lines=lines, first=first)

    def hit(self, message: str, **further: Any) -> Hit:
        """Return the hit at these places; ``further`` are attributes of :class:`Hit`."""
        given: dict[str, Any] = {
            "lines": self.lines,
            "count": self.count,
            "column": self.column,
            "query_id": self.query_id,
            "doc_id": self.doc_id,
        }
        return Hit(message, **given | further)


@dataclass(frozen=True, slots=True)
class Kinds:
    """Places of several kinds, for a rule whose finding depends on more than one.

    Attributes:
        places: The places of each kind.
    """

    places: Mapping[str, Places]

    @classmethod
    def of(cls, **places: Places) -> Kinds:
        """Return the kinds that have places."""
        return cls({kind: one for kind, one in places.items() if one.count})

    def __getitem__(self, kind: str) -> Places:
        return self.places.get(kind, Places())

    @property
    def count(self) -> int:
        """The number of places."""
        return sum(one.count for one in self.places.values())

    def __add__(self, later: Kinds) -> Kinds:
        """Return the places of two parts of a file, given in the order of the file."""
        return Kinds({kind: self[kind] + later[kind] for kind in {**self.places, **later.places}})

    def moved(self, n_lines: int) -> Kinds:
        """Return the places in a file with ``n_lines`` lines before this part."""
        return Kinds({kind: one.moved(n_lines) for kind, one in self.places.items()})
