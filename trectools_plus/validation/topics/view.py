"""What the rules for topics look at: ids and texts as a table, and what the reader came upon."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl

from trectools_plus.formats.columns import Columns
from trectools_plus.validation.registry import FixName, SeverityName
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.shape import Shape
from trectools_plus.validation.views.tables import TableView

Form = Literal["tsv", "jsonl", "sgml", "xml", "yaml", "json"]
Kind = Literal["topics", "testset"]

ENTRIES_SCHEMA: dict[str, type[pl.DataType]] = {
    "line": pl.UInt32,
    "query_id": pl.String,
    "text": pl.String,
    "text_line": pl.UInt32,
}
LANGUAGES_SCHEMA: dict[str, type[pl.DataType]] = {
    "line": pl.UInt32,
    "query_id": pl.String,
    "language": pl.String,
}
JUDGMENTS_SCHEMA: dict[str, type[pl.DataType]] = {
    "line": pl.UInt32,
    "query_id": pl.String,
    "doc_id": pl.String,
    "grade": pl.Float64,
}


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something a reader came upon that a rule reports.

    Attributes:
        line: The line, from 1.
        message: What is seen.
        column: The character column, from 1.
        query_id: The topic it is about.
        doc_id: The document it is about.
        severity: Where it is lower than the rule's own.
        remedy: Where it is not the rule's own.
        fix: Where it is not the rule's own: ``no`` for what no program mends.
    """

    line: int
    message: str
    column: int | None = None
    query_id: str | None = None
    doc_id: str | None = None
    severity: SeverityName | None = None
    remedy: str | None = None
    fix: FixName | None = None


class Troubles:
    """What a reader came upon, by the code of the rule that reports it.

    The first trouble of each code and severity is kept whole, of the others only the line. If any
    of them can be mended, so can the first as far as anybody is told.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[str, SeverityName | None], Trouble] = {}
        self._lines: dict[tuple[str, SeverityName | None], array[int]] = {}
        self._unmendable: Counter[tuple[str, SeverityName | None]] = Counter()

    def add(self, code: str, trouble: Trouble) -> None:
        """Note one."""
        key = code, trouble.severity
        first = self._first.get(key)
        if first is None:
            self._first[key] = trouble
            self._lines[key] = array("I")
        elif first.fix != trouble.fix and first.fix == "no":
            self._first[key] = replace(first, fix=trouble.fix)
        self._lines[key].append(trouble.line)
        self._unmendable[key] += trouble.fix == "no"

    def __bool__(self) -> bool:
        return bool(self._first)

    def worst(self, code: str) -> tuple[Trouble, Sequence[int], int] | None:
        """What there is of a code's worst severity.

        Returns:
            The first trouble; the lines of all of them; how many of them no program mends.
        """
        for severity in ("error", None, "warning", "info"):
            found = self._first.get((code, severity))
            if found is not None:
                lines = self._lines[code, severity]
                return found, lines, self._unmendable[code, severity]
        return None


@dataclass(slots=True)
class Content:
    """What a reader found in a file.

    Attributes:
        entries: ``line, query_id, text, text_line`` of each topic or test case: its id with its
            line, its text with its line; null where missing.
        troubles: What was wrong.
        judgments: ``line, query_id, doc_id, grade`` of a test set; the grade is null where it is
            no whole number.
        kind: Whether the file has judgments beside its queries.
        languages: ``line, query_id, language`` of each declaration of a test set's language, the
            one of its metadata without a query id.
    """

    entries: pl.DataFrame
    troubles: Troubles
    judgments: pl.DataFrame | None = None
    kind: Kind = "topics"
    languages: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LANGUAGES_SCHEMA))

    @classmethod
    def empty(cls, troubles: Troubles | None = None, kind: Kind = "topics") -> Content:
        """A file without topics."""
        return cls(pl.DataFrame(schema=ENTRIES_SCHEMA), troubles or Troubles(), kind=kind)


class TopicsView(TableView):
    """Topics or a test set as rules see them.

    Args:
        columns: The file's bytes and facts; its rows mean nothing here.
        form: How the file is written.
        content: What a reader found in it.
        shape: Where its data begin.

    Attributes:
        frame: ``line, query_id, text, text_line`` of each topic.
        troubles: What the reader came upon.
        judgments: The judgments of a test set, as rules for qrels see them.
        languages: Where a test set says what language it is in.
    """

    def __init__(self, columns: Columns, form: Form, content: Content, shape: Shape) -> None:
        super().__init__(columns.source.path, columns, shape)
        self.kind = content.kind
        self.form = form
        self.is_by_lines = form in ("tsv", "jsonl")
        self.has_comments = form == "tsv"
        self.frame = content.entries
        self.troubles = content.troubles
        self.languages = content.languages
        self.judgments = None
        if content.judgments is not None:
            self.judgments = JudgmentsView(columns.source.path, content.judgments)

    @property
    def n_queries(self) -> int:
        """Number of distinct ids; a test case without one counts for itself."""
        ids = self.frame["query_id"]
        return ids.drop_nulls().n_unique() + ids.null_count()


class JudgmentsView(QrelsView):
    """Judgments that are no four columns, but in a test set or under BEIR's header.

    Their lines are those of that file.

    Args:
        path: The file.
        table: ``line, query_id, doc_id, grade``.
    """

    def __init__(self, path: str, table: pl.DataFrame) -> None:
        frame = table.select(
            "query_id", "doc_id", iteration=pl.lit("0"), relevance=pl.col("grade").fill_null(np.nan)
        )
        super().__init__(path, None, Shape(), frame)
        # In place of the base class's property, which would look for them in a file of columns.
        self.__dict__["line_numbers"] = table["line"].to_numpy()
