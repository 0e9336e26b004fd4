"""The view of topics: ids and texts as a table, and the problems that the reader found."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl

from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.columns.rows import QrelsRows
from trectools_plus.formats.nodes.model import Node
from trectools_plus.formats.topic_records.forms import LINE_FORMS, Form
from trectools_plus.formats.topic_records.model import Topic, TopicProblem, report_empty_text
from trectools_plus.validation.registry import SeverityName
from trectools_plus.validation.texts import language_of_folder
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.shape import Shape
from trectools_plus.validation.views.tables import TableView

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
    "span": pl.String,
}


class Problems:
    """The problems that a reader found, by the code of the rule that reports them.

    Stores the first problem of each code and severity, and only the lines of the others. If one of
    them can be fixed, the first is reported as fixable. One that prevents scoring replaces a first
    one that does not.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[str, SeverityName | None], TopicProblem] = {}
        self._lines: dict[tuple[str, SeverityName | None], array[int]] = {}
        self._unfixable: Counter[tuple[str, SeverityName | None]] = Counter()

    def add(self, problem: TopicProblem) -> None:
        """Add a problem."""
        key = problem.code, problem.severity
        first = self._first.get(key)
        if first is None:
            self._first[key] = problem
            self._lines[key] = array("I")
        elif first.blocks_scoring is False and problem.blocks_scoring is None:
            self._first[key] = problem
        elif first.fix != problem.fix and first.fix == "no":
            self._first[key] = replace(first, fix=problem.fix)
        self._lines[key].append(problem.line)
        self._unfixable[key] += problem.fix == "no"

    def __bool__(self) -> bool:
        return bool(self._first)

    def worst(self, code: str) -> tuple[TopicProblem, Sequence[int], int] | None:
        """Return the problems of a code's worst severity.

        Returns:
            The first problem, the lines of all, and the number of those that no program can fix.
        """
        for severity in ("error", None, "warning", "info"):
            found = self._first.get((code, severity))
            if found is not None:
                lines = self._lines[code, severity]
                return found, lines, self._unfixable[code, severity]
        return None


@dataclass(slots=True)
class Cases:
    """Further data of the cases of a test set.

    Attributes:
        strict: True for a form of this package; other forms allow additional fields.
        notes: For each case, its category, language and other remarks, by field.
        judged: For each case, its rows in the table of judgments.
        metadata: The metadata of the set, by field.
        lines: The lines of the keys of the document.
    """

    strict: bool
    notes: list[dict[str, str]] = field(default_factory=list)
    judged: list[range] = field(default_factory=list)
    metadata: dict[str, Node] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Content:
    """The readable content of a file.

    Attributes:
        entries: ``line, query_id, text, text_line`` of each topic or test case: its id and text,
            with their lines; null if missing.
        problems: The problems in the file.
        judgments: ``line, query_id, doc_id, grade, span`` of a test set; the grade is null if it
            is not a whole number, the span if none is given.
        kind: ``testset`` for a file with queries and judgments.
        languages: ``line, query_id, language`` of each language declared in a test set; without a
            query id for the metadata.
        cases: Further data of the cases of a test set; ``None`` for files without cases.
        read_as: The format and the fields that were read, if they are not the usual ones.
    """

    entries: pl.DataFrame
    problems: Problems
    judgments: pl.DataFrame | None = None
    kind: Kind = "topics"
    languages: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LANGUAGES_SCHEMA))
    cases: Cases | None = None
    read_as: str | None = None

    @classmethod
    def of_topics(
        cls,
        topics: Iterable[Topic],
        problems: Problems,
        notes: Sequence[str] = (),
        kind: Kind = "topics",
    ) -> Content:
        """Return the content of a file of topics; report empty texts (T121).

        Args:
            topics: The topics.
            problems: Collects the problems.
            notes: Descriptions of how the file was read, at the latest after the last topic.
            kind: The kind of file.
        """
        table = table_of(topics, problems)
        return cls(table, problems, kind=kind, read_as=next(iter(notes), None))


def table_of(topics: Iterable[Topic], problems: Problems) -> pl.DataFrame:
    """Return the table of topics or cases; report empty texts (T121)."""
    rows = []
    for topic in topics:
        report_empty_text(topic, problems.add)
        rows.append((topic.line, topic.query_id, topic.text, topic.text_line or topic.line))
    return pl.DataFrame(rows, schema=ENTRIES_SCHEMA, orient="row")


class TopicsView(TableView):
    """Topics or a test set in the form that the rules check.

    Args:
        columns: The bytes and facts of the file; its rows are not used.
        form: The form of the file.
        content: The content that a reader found.
        shape: The line on which the data begins.

    Attributes:
        frame: ``line, query_id, text, text_line`` of each topic.
        problems: The problems that the reader found.
        judgments: The judgments of a test set, for the rules on qrels.
        languages: The languages that a test set declares.
        implied_language: The language that the folder of a test set is named after, and the name of
            the folder; ``None`` if the set declares a language.
        cases: Further data of the cases of a test set; ``None`` for files without cases.
        read_as: The format and the fields that were read, if they are not the usual ones.
    """

    def __init__(self, columns: Columns, form: Form, content: Content, shape: Shape) -> None:
        super().__init__(columns.source.path, columns, shape)
        self.kind = content.kind
        self.form = form
        self.is_line_based = form in LINE_FORMS
        self.has_comments = form == "tsv"
        self.frame = content.entries
        self.problems = content.problems
        self.languages = content.languages
        self.implied_language: tuple[str, str] | None = None
        if content.cases is not None and content.languages.is_empty():
            self.implied_language = language_of_folder(columns.source.path)
        self.cases = content.cases
        self.read_as = content.read_as
        self.judgments = None
        if content.judgments is not None:
            self.judgments = JudgmentsView(columns.source.path, content.judgments)

    @property
    def n_rows(self) -> int:
        """The number of topics."""
        return self.frame.height

    @property
    def n_queries(self) -> int:
        """Number of distinct ids, plus the number of test cases without an id."""
        ids = self.frame["query_id"]
        return ids.drop_nulls().n_unique() + ids.null_count()


class JudgmentsView(QrelsView):
    """The judgments of a test set, with its line numbers.

    Args:
        path: The file.
        table: ``line, query_id, doc_id, grade, span``.

    Attributes:
        spans: The words of the query that name each judged document; null if not given.
    """

    def __init__(self, path: str, table: pl.DataFrame) -> None:
        frame = table.select(
            "query_id", "doc_id", iteration=pl.lit("0"), relevance=pl.col("grade").fill_null(np.nan)
        )
        super().__init__(path, None, Shape(), QrelsRows.of_frame(frame))
        self.frame = frame
        self.spans = table["span"]
        # Replaces the cached property of the base class, which needs a file with columns.
        self.__dict__["line_numbers"] = table["line"].to_numpy()

    @property
    def lines_are_known(self) -> bool:
        """True, because the reader of test sets knows the line of each judgment."""
        return True
