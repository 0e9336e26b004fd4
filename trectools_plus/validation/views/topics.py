"""The views of topics and of test sets: ids and texts as a table, judgments, and problems."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
import polars as pl

from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.columns.rows import QrelsRows
from trectools_plus.formats.nodes.model import Node
from trectools_plus.formats.topic_records.forms import LINE_FORMS, Form
from trectools_plus.formats.topic_records.model import Topic, TopicProblem, report_empty_text
from trectools_plus.validation.registry import SeverityName
from trectools_plus.validation.topics.texts import language_of_folder, primary_language
from trectools_plus.validation.views.places import Places, Value
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.tables import Shape, TableView

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

    Stores the first problem of each code and severity, and only the lines of the others. One that
    prevents scoring replaces a first one that does not.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, SeverityName | None], tuple[TopicProblem, array[int]]] = {}

    def add(self, problem: TopicProblem) -> None:
        """Add a problem."""
        key = problem.code, problem.severity
        first, lines = self._found.get(key, (problem, array("I")))
        lines.append(problem.line)
        prevents_scoring = first.blocks_scoring is False and problem.blocks_scoring is None
        self._found[key] = (problem if prevents_scoring else first), lines

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def codes(self) -> set[str]:
        """The codes of the rules that are broken."""
        return {code for code, _ in self._found}

    def places(self, code: str, severity: SeverityName | None) -> Places:
        """Return the problems of a code and a severity; ``None`` for the usual one."""
        if (code, severity) not in self._found:
            return Places()
        first, lines = self._found[code, severity]
        shown: dict[str, Value] = {"what": first.message, "remedy": first.remedy or ""}
        return Places(len(lines), lines, first.column, first.query_id, first.doc_id, shown)

    def blocks_scoring(self, code: str, severity: SeverityName | None) -> bool | None:
        """Return whether they prevent scoring; ``None`` if the rule decides it."""
        return self._found[code, severity][0].blocks_scoring


@dataclass(frozen=True, slots=True)
class Judgment:
    """A judgment of a test case.

    Attributes:
        line: Its line.
        doc_id: The document.
        grade: The grade; ``None`` if it is not a whole number.
        span: The words of the text that name the document; ``None`` if not given.
    """

    line: int
    doc_id: str
    grade: float | None
    span: str | None = None


@dataclass(slots=True)
class CaseView:
    """A test case.

    Attributes:
        topic: Its id and text as written, with their lines.
        query_id: Its id; ``case-001`` for the first case if it has none.
        notes: Its category, language and other remarks, by field.
        judged: Its judgments.
    """

    topic: Topic
    query_id: str
    notes: dict[str, str] = field(default_factory=dict)
    judged: list[Judgment] = field(default_factory=list)


@dataclass(slots=True)
class Cases:
    """The cases of a test set, and its metadata.

    Attributes:
        strict: True for a form of this package; other forms allow additional fields.
        cases: The cases.
        metadata: The metadata of the set, by field.
        lines: The lines of the keys of the document.
    """

    strict: bool
    cases: list[CaseView]
    metadata: dict[str, Node] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class TopicsContent:
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
    ) -> TopicsContent:
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

    def __init__(self, columns: Columns, form: Form, content: TopicsContent, shape: Shape) -> None:
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
    """

    def __init__(self, path: str, table: pl.DataFrame) -> None:
        frame = table.select(
            "query_id", "doc_id", iteration=pl.lit("0"), relevance=pl.col("grade").fill_null(np.nan)
        )
        super().__init__(path, None, Shape(), QrelsRows.of_frame(frame))
        self.frame = frame
        # Replaces the cached property of the base class, which needs a file with columns.
        self.__dict__["line_numbers"] = table["line"].to_numpy()


class TermState(Protocol):
    """The state of an id in an ontology."""

    @property
    def status(self) -> str:
        """``live``, ``alternative``, ``obsolete`` or ``unknown``."""

    @property
    def term_id(self) -> str | None:
        """The live term that the id refers to; ``None`` if there is none, or several."""

    @property
    def replaced_by(self) -> tuple[str, ...]:
        """For an obsolete id, the ids that replace it."""


class Terms(Protocol):
    """The terms of an ontology."""

    def resolve(self, term_id: str) -> TermState:
        """Return the state of an id; never fails."""


class TestSetView:
    """A test set with its ontology and the other parts of its split.

    Args:
        topics: The queries and judgments of the set.
        terms: The ontology of its ids; ``None`` if ids are not checked.
        parts: The earlier parts of the split.

    Attributes:
        drops_unknown_terms: True if the set is used without the ids that are not terms, so that
            they are no errors.
    """

    __test__ = False  # not a test class for pytest

    def __init__(
        self, topics: TopicsView, terms: Terms | None = None, parts: Sequence[TestSetView] = ()
    ) -> None:
        self.topics = topics
        self.drops_unknown_terms = False
        self.terms = terms
        self._parts = tuple(parts)

    @property
    def reported_view(self) -> TableView:
        """The view that findings are reported on."""
        return self.topics

    @property
    def parts(self) -> list[TestSetView]:
        """The other parts, without sets that declare another language."""
        return [
            part
            for part in self._parts
            if not (self.language and part.language and self.language != part.language)
        ]

    @property
    def is_test_set(self) -> bool:
        """Return whether the file has judgments, and queries with texts."""
        texts = self.topics.frame["text"]
        return self.topics.kind == "testset" and texts.null_count() < texts.len()

    @cached_property
    def queries(self) -> pl.DataFrame:
        """``line, query_id, text, text_line`` of each query; missing ids are ``case-001``, …."""
        numbered = pl.format("case-{}", (pl.int_range(pl.len()) + 1).cast(pl.String).str.zfill(3))
        return self.topics.frame.with_columns(query_id=pl.col("query_id").fill_null(numbered))

    @cached_property
    def texts(self) -> pl.DataFrame:
        """Those of :attr:`queries` that have a text, each id once."""
        return self.queries.filter(pl.col("text").str.strip_chars() != "").unique(
            "query_id", keep="first", maintain_order=True
        )

    @cached_property
    def judged(self) -> pl.DataFrame:
        """``line, query_id, doc_id, grade`` of each judgment; unreadable grades are null."""
        judgments = self.topics.judgments
        if judgments is None or judgments.line_numbers is None:
            schema = {"line": pl.UInt32, "query_id": pl.String, "doc_id": pl.String}
            return pl.DataFrame(schema={**schema, "grade": pl.Float64})
        lines = pl.Series("line", judgments.line_numbers, dtype=pl.UInt32)
        grade = pl.col("relevance").cast(pl.Float64).fill_nan(None)
        return judgments.frame.select(lines, "query_id", "doc_id", grade=grade)

    @property
    def language(self) -> str:
        """The language, declared or implied by the folder; empty for none or several."""
        if self.topics.implied_language is not None:
            return self.topics.implied_language[0]
        found = {primary_language(code) for code in self.topics.languages["language"]}
        return found.pop() if len(found) == 1 else ""
