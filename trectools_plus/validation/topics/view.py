"""The view of topics and of test sets: ids and texts as a table, judgments, and problems."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
import polars as pl

from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.columns.rows import QrelsRows
from trectools_plus.formats.topic_records.records import Problems
from trectools_plus.formats.topics import (
    LINE_FORMS,
    Form,
    TopicOptions,
    read_any,
    report_empty_text,
)
from trectools_plus.validation.topics.cases import Cases
from trectools_plus.validation.topics.texts import language_of_folder, primary_language
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.tables import Shape, TableView

_FIRST_DATA: Mapping[str, re.Pattern[str]] = {
    "lines": re.compile(r"^(?!#[^\t\n]*$)[ \t\r\v\f]*[^\s]", re.MULTILINE),
    "yaml": re.compile(r"^[ \t\r]*[^#\s]", re.MULTILINE),
}
"""The start of the data after comments, by form."""
_QUERIES = {"line": pl.UInt32, "query_id": pl.String, "text": pl.String, "text_line": pl.UInt32}
_JUDGED = {"line": pl.UInt32, "query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}


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


class TopicsView(TableView):
    """Topics or a test set in the form that the rules check.

    Args:
        columns: The bytes and facts of the file; its rows are not used.
        form: The form of the file.

    Attributes:
        n_rows, n_queries: The numbers of topics, and of their ids; cases without one count too.
        frame: ``line, query_id, text, text_line`` of each topic; null if missing.
        problems: The problems that the reader found.
        cases: The cases of a test set; ``None`` for topics.
        judged: ``line, query_id, doc_id, grade`` of each judgment; the grade is null if it is not a
            whole number.
        read_as: The fields that were read, if they are not the usual ones.
        terms: The ontology of the ids of a test set; ``None`` if ids are not checked.
        drops_unknown_terms: True if the set is used without the ids that are not terms, so that
            they are no errors.
        earlier_parts: The earlier parts of the split of a test set.
    """

    def __init__(self, columns: Columns, form: Form) -> None:
        super().__init__(columns.source.path, QrelsRows.joined([]), columns)
        self.kind = "topics"
        self.is_line_based = form in LINE_FORMS
        self.has_comments = form == "lines"
        self.problems = Problems()
        self.frame = pl.DataFrame(schema=_QUERIES)
        self.cases: Cases | None = None
        self.read_as: str | None = None
        self.terms: Terms | None = None
        self.drops_unknown_terms = False
        self.earlier_parts: Sequence[TopicsView] = ()

    def read(self, text: str, form: Form, options: TopicOptions) -> None:
        """Read the topics or the cases of a file."""
        table = read_any(text, form, options, test_sets=False)
        topics, self.problems, self.read_as = table.topics, table.problems, table.read_as
        if form in ("json", "yaml") and not topics:
            self.kind = "testset"
        if table.other is not None:
            self.cases = Cases(self.problems)
            self.cases.read(table.other)
            topics = [case.topic for case in self.cases.cases]
        for topic in topics:
            report_empty_text(topic, self.problems)
        rows = [(one.line, one.query_id, one.text, one.text_line or one.line) for one in topics]
        self.frame = pl.DataFrame(rows, schema=_QUERIES, orient="row")
        ids = self.frame["query_id"]
        self.n_rows, self.n_queries = len(ids), ids.drop_nulls().n_unique() + ids.null_count()
        if topics or self.problems.groups:
            match = _FIRST_DATA.get(form, re.compile(r"\S")).search(text)
            self.shape = Shape(first_line=text.count("\n", 0, match.end()) + 1 if match else 1)

    @cached_property
    def judged(self) -> pl.DataFrame:
        """See the class."""
        cases = [] if self.cases is None else self.cases.cases
        rows = [
            (judged.line, case.query_id, judged.doc_id, judged.grade)
            for case in cases
            for judged in case.judged
        ]
        return pl.DataFrame(rows, schema=_JUDGED, orient="row")

    @cached_property
    def queries(self) -> pl.DataFrame:
        """The topics with ids ``case-001``, … for test cases without an id."""
        if self.cases is None:
            return self.frame
        ids = pl.Series("query_id", [case.query_id for case in self.cases.cases], pl.String)
        return self.frame.with_columns(ids)

    @cached_property
    def query_texts(self) -> pl.DataFrame:
        """Those of :attr:`queries` that have a text, each id once."""
        return self.queries.filter(pl.col("text").str.strip_chars() != "").unique(
            "query_id", keep="first", maintain_order=True
        )

    @property
    def is_test_set(self) -> bool:
        """Return whether the file has judgments, and queries with texts."""
        return self.cases is not None and self.frame["text"].is_not_null().any()

    @property
    def implied_language(self) -> str | None:
        """The language that the folder of a test set is named after, if it declares none."""
        is_undeclared = self.cases is not None and not self.cases.languages
        return language_of_folder(self.path) if is_undeclared else None

    @property
    def language(self) -> str:
        """The language, declared or implied by the folder; empty for none or several."""
        declared = {primary_language(code) for code in self.cases.languages} if self.cases else {""}
        return self.implied_language or (declared.pop() if len(declared) == 1 else "")

    @property
    def parts(self) -> list[TopicsView]:
        """The earlier parts, without sets that declare another language."""
        return [
            part
            for part in self.earlier_parts
            if not (self.language and part.language and self.language != part.language)
        ]


class JudgmentsView(QrelsView):
    """The judgments of a test set, with its line numbers.

    Args:
        path: The file.
        table: ``line, query_id, doc_id, grade``.
    """

    def __init__(self, path: str, table: pl.DataFrame) -> None:
        grade = pl.col("grade").clip(-(2.0**60), 2.0**60).fill_null(np.nan)
        frame = table.select("query_id", "doc_id", iteration=pl.lit("0"), relevance=grade)
        super().__init__(path, QrelsRows.of_frame(frame))
        self.frame, self.line_numbers = frame, table["line"].to_numpy()
