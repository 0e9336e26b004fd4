"""The view of topics and of test sets: ids and texts as a table, judgments, and problems.

A file is read once. Readers never raise: they report each
:class:`~trectools_plus.formats.topic_formats.Problem`. Test sets have several forms::

    {metadata: {…}, queries: [{query_id, text, relevant: [{doc_id, grade, span}], …}]}
    {queries: [{id, text, relevant: {doc_id: grade}}]}
    {queries: [{query_id, query_text, relevant_docs: [{doc_id, grade}]}]}     or {doc_id: grade}
    {metadata: {…}, test_cases: [{text, expected_hpo_ids: [HP:…]}]}     or only the list
    {query_id: {doc_id: grade}}     or {query_id: [doc_id, …]}

The last form has only judgments. The first three are the forms of this package, with a fixed set of
fields. Additional fields of the fourth form are ignored. Both the validator and
:func:`trectools_plus.load_test_set` use this reader.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from pydantic import ValidationError

from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.columns.rows import QrelsRows
from trectools_plus.formats.interchange.names import (
    DOC_ID_KEYS,
    GRADE_KEYS,
    GRADED_KEYS,
    ID_KEYS,
    JUDGED_KEYS,
    LISTED_KEYS,
    NOTE_KEYS,
    SPAN_KEY,
    TEXT_KEYS,
    TOP_KEYS,
)
from trectools_plus.formats.nodes import Node
from trectools_plus.formats.topic_formats import (
    TSV,
    Problems,
    Topic,
    TopicFormat,
    read_id,
    read_text,
)
from trectools_plus.formats.topics import TopicOptions, read_any, report_empty_text
from trectools_plus.models import ReportModel
from trectools_plus.text import listed, quoted, visible
from trectools_plus.validation.texts import language_of_folder, primary_language
from trectools_plus.validation.views.kinds import QrelsView
from trectools_plus.validation.views.tables import TableView

_QUERIES = {"line": pl.UInt32, "query_id": pl.String, "text": pl.String, "text_line": pl.UInt32}
_JUDGED = {"line": pl.UInt32, "query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}


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
        terms: The ontology of the ids of a test set, which can ``resolve`` them; ``None`` if they
            are not checked.
        drops_unknown_terms: True if the set is used without the ids that are not terms, so that
            they are no errors.
        earlier_parts: The earlier parts of the split of a test set.
    """

    kind = "topics"
    cases: Cases | None = None
    terms: Any = None
    drops_unknown_terms: bool = False
    earlier_parts: Sequence[TopicsView] = ()

    def __init__(self, columns: Columns, form: TopicFormat) -> None:
        super().__init__(columns.source.path, QrelsRows.none(), columns)
        self.is_line_based, self.has_comments = form.has_lines, form is TSV
        self.problems, self.frame = Problems(), pl.DataFrame(schema=_QUERIES)

    def read(self, text: str, form: TopicFormat, options: TopicOptions) -> None:
        """Read the topics or the cases of a file."""
        table = read_any(text, form, options, test_sets=False)
        topics, self.problems, self.read_as = table.topics, table.problems, table.read_as
        if form.is_document and not topics:
            self.kind = "testset"
        if table.other is not None:
            self.cases = Cases(self.problems).read(table.other)
            topics = [case.topic for case in self.cases.cases]
        for topic in topics:
            report_empty_text(topic, self.problems)
        rows = [(one.line, one.query_id, one.text, one.text_line or one.line) for one in topics]
        self.frame = pl.DataFrame(rows, schema=_QUERIES, orient="row")
        ids = self.frame["query_id"]
        self.n_rows, self.n_queries = len(ids), ids.drop_nulls().n_unique() + ids.null_count()
        if topics or self.problems.groups:
            self.file = replace(self.file, first_line=1)

    @cached_property
    def judged(self) -> pl.DataFrame:
        """See the class."""
        rows = [
            (judged.line, case.query_id, judged.doc_id, judged.grade)
            for case in (self.cases.cases if self.cases else ())
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


def judgments_of(topics: TopicsView) -> QrelsView:
    """Return the judgments of a test set, with their line numbers."""
    grade = pl.col("grade").clip(-(2.0**60), 2.0**60).fill_null(np.nan)
    frame = topics.judged.select("query_id", "doc_id", iteration=pl.lit("0"), relevance=grade)
    view = QrelsView(topics.path, QrelsRows.of_frame(frame))
    view.frame, view.line_numbers = frame, topics.judged["line"].to_numpy()
    view.every_line = topics.every_line
    return view


MAX_SPELLINGS_CHECKED = 200
"""Maximum number of unknown keys for which a similar known key is searched."""
Purposes = Mapping[str, str]
"""What each known key of a mapping is for."""
_TOP: Purposes = {key: key for key in TOP_KEYS}
_CASE: Purposes = {
    **dict.fromkeys(ID_KEYS, "id"),
    **dict.fromkeys(TEXT_KEYS, "text"),
    **dict.fromkeys(JUDGED_KEYS, "judgments"),
    **{key: key for key in NOTE_KEYS},
}
_TERM: Purposes = {
    **dict.fromkeys(DOC_ID_KEYS, "doc_id"),
    **dict.fromkeys(GRADE_KEYS, "grade"),
    SPAN_KEY: SPAN_KEY,
}


class Notes(ReportModel):
    """The remarks on a test case."""

    category: Literal["exact_match", "synonym", "abbreviation", "layperson", "complex"] | None = (
        None
    )
    """The kind of wording."""
    difficulty: Literal["easy", "medium", "hard"] | None = None
    """The difficulty for systems that match words."""
    query_type: Literal["exact_term", "paraphrase", "complex_clinical"] | None = None
    """A coarser classification of the wording."""
    hpo_domain: str | None = None
    """The organ system: the label of a child of "Phenotypic abnormality"."""
    language: str | None = None
    """The language of the text, as ISO 639-1 code."""
    description: str | None = None
    """A comment, or the text in English."""


class Metadata(ReportModel):
    """The metadata of a test set."""

    dataset_id: str
    """The name; by default the name of the file."""
    version: str = ""
    """The version, for example ``1.0.0``; it changes when queries are replaced."""
    language: str = ""
    """The language of all texts, as ISO 639-1 code; empty if not declared."""
    description: str = ""
    """A description of the contents and of the meaning of the grades."""


class Span(ReportModel):
    """The part of the text of a test case that a judgment is about."""

    span: str | None = None
    """The words that name the document; null if not given."""


class Judgment(NamedTuple):
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
    span: str | None


@dataclass(slots=True)
class JudgedTopic:
    """A topic with judgments: a case of a test set.

    Attributes:
        topic: Its id and text as written, with their lines.
        query_id: Its id; ``case-001`` for the first case if it has none.
        judged: Its judgments, for a repeated id those of all cases at the first.
        notes: Its category, language and other remarks, by field.
    """

    topic: Topic
    query_id: str
    judged: list[Judgment] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Cases:
    """The cases of a test set, and its metadata.

    Attributes:
        problems: The problems that were found.
        cases: The cases.
        strict: True for a form of this package; other forms allow additional fields.
        metadata: The metadata of the set, by field.
        languages: The languages that the set declares.
        keys: The keys of the document; ``None`` if it has only judgments.
    """

    problems: Problems
    cases: list[JudgedTopic] = field(default_factory=list)
    strict: bool = True
    metadata: dict[str, Node] = field(default_factory=dict)
    languages: list[str] = field(default_factory=list)
    keys: list[str] | None = None
    _near: dict[str, list[str]] = field(default_factory=dict)
    _first: dict[str, JudgedTopic] = field(default_factory=dict)

    def read(self, root: Node) -> Self:
        """Read the cases of a document."""
        self.keys = list(root.fields)
        if root.items:
            self._read_list(root)
        elif "queries" in self.keys or "test_cases" in self.keys:
            self._read_document(root)
        elif any(self._similar(name, _TOP) for name in self.keys[:9]):
            self._by_purpose(root, _TOP, set())
        elif not root.is_scalar and not any(value.is_scalar for value in root.fields.values()):
            self._read_judgments(root)
        elif not root.is_empty:
            self._report_form(root, listed(self.keys) or root.describe())
        return self

    def _read_list(self, root: Node) -> None:
        names = {name for case in root.items for name in case.fields}
        self.strict = bool(names & {*GRADED_KEYS}) or not names & {*LISTED_KEYS}
        self._read_cases(root)

    def _read_document(self, root: Node) -> None:
        self.strict = "queries" in root.fields
        self._by_purpose(root, _TOP, set())
        if "metadata" in root.fields:
            self._read_metadata(root.fields["metadata"])
        self._read_cases(root.fields["queries" if self.strict else "test_cases"])

    def _read_judgments(self, root: Node) -> None:
        """Read ``{query_id: {doc_id: grade}}``."""
        self.keys = None
        for value in root.fields.values():
            key = value.key or value
            self._add(Topic(key.line, read_id(key, "id", None, self.problems)), [value], key)

    def _read_metadata(self, node: Node) -> None:
        """Read the metadata; values of other forms than those of this package become text."""
        if not node.fields and not node.is_empty:
            self.problems.add("T118", node.line, f"metadata is {node.describe()}, not a mapping")
        self.metadata = node.fields
        language = node.fields.get("language")
        self.languages += [language.text] if language and language.text else []
        if self.strict:
            self._texts(Metadata, node.fields)

    def _texts(
        self, model: type[ReportModel], nodes: Mapping[str, Node], query_id: str | None = None
    ) -> dict[str, str]:
        """Return texts; report other values, and in forms of this package other words (T118)."""
        values = {
            name: node.text if node.meaning == "integer" and not self.strict else node.data
            for name, node in nodes.items()
            if name in model.model_fields
        }
        try:
            model.model_validate(values)
        except ValidationError as error:
            for item in error.errors():
                name, expected = str(item["loc"][0]), item["msg"].removeprefix("Input should be ")
                if name in values and (self.strict or item["type"] != "literal_error"):
                    self.problems.add(
                        "T118",
                        nodes[name].line,
                        f"{name} is {_shown(nodes[name])}, not {expected}",
                        query_id=query_id,
                    )
                values[name] = None
        return {name: text for name, text in values.items() if text is not None}

    def _report_form(self, node: Node, seen: str) -> None:
        self.problems.add(
            "T105",
            node.line,
            f"expected a list of test cases, 'queries' or 'test_cases' but got {seen}",
            remedy="Give each test case an id, a text and its relevant documents",
        )

    def _read_cases(self, node: Node) -> None:
        for case in node.items or node.fields.values():
            if case.fields:
                self._read_case(case)
            else:
                self.problems.add(
                    "T105",
                    case.line,
                    f"expected a test case with id and text but got {case.describe()}",
                )
        if node.is_scalar and not node.is_empty:
            self._report_form(node, node.describe())

    def _read_case(self, case: Node) -> None:
        """Read a test case, whose key is its id if the cases are a mapping."""
        topic = Topic(case.line)
        id_node = next(filter(None, map(case.fields.get, ID_KEYS)), case.key)
        if id_node is not None:
            topic.query_id = read_id(id_node, "id", None, self.problems)
            topic.line = id_node.line
        required = {"text", "judgments"} | ({"id"} if self.strict and id_node is None else set())
        values = self._by_purpose(case, _CASE, required, topic.query_id)
        for text in values.get("text", ())[:1]:
            read_text(text, topic, self.problems)
        added = self._add(topic, values.get("judgments"), case)
        added.notes |= self._texts(Notes, case.fields, added.query_id)
        self.languages += filter(None, [added.notes.get("language")])

    def _add(self, topic: Topic, judged: Sequence[Node] | None, place: Node) -> JudgedTopic:
        """Add a case; if several have the same id (T111, T112), the first has all judgments.

        Args:
            topic: Its id and text.
            judged: Its judgments; no values if their key is misspelled, ``None`` without a key.
            place: The place of a case without a key for its judgments.
        """
        case = JudgedTopic(topic, topic.query_id or f"case-{len(self.cases) + 1:03d}")
        values = [value for value in judged or () if not value.is_empty]
        if not values and judged != []:
            place = judged[0].key or judged[0] if judged else place
            self.problems.add(
                "T131",
                place.line,
                f"no judgments for query {visible(case.query_id)}; it is left out of the mean",
                query_id=topic.query_id,
            )
        first = self._first.setdefault(case.query_id, case)
        known = {(term.doc_id, term.grade) for term in first.judged}
        first.judged += [
            term
            for value in values
            for term in self._judgments(value, topic)
            if (term.doc_id, term.grade) not in known
        ]
        self.cases.append(case)
        return case

    def _judgments(self, node: Node, topic: Topic) -> Iterator[Judgment]:
        """Yield the judgments of a list of documents, or of a mapping with grades."""
        query_id = topic.query_id
        if node.is_scalar:
            what = f"expected judged documents but got {node.describe()}"
            self.problems.add("T105", node.line, what, query_id=query_id)
        for item in node.items or node.fields.values():
            fields = self._fields_of(item, query_id)
            span = self._texts(Span, fields, query_id).get(SPAN_KEY, "")
            place, grade = fields.get("doc_id"), fields.get("grade")
            doc_id = read_id(place, "document id", query_id, self.problems) if place else None
            if place and doc_id:
                value = self._grade(grade, doc_id, query_id) if grade else None
                yield Judgment(place.line, doc_id, value, span if span.strip() else None)

    def _fields_of(self, item: Node, query_id: str | None) -> dict[str, Node]:
        """Return the fields of a judgment: of an object, a grade by id, or an id, which is 1."""
        if item.key is not None:
            return {"doc_id": item.key, "grade": item}
        if not item.fields:
            return {"doc_id": item, "grade": Node(item.line, 1, "1")}
        values = self._by_purpose(item, _TERM, {"doc_id", "grade"}, query_id)
        return {name: nodes[0] for name, nodes in values.items() if nodes}

    def _grade(self, node: Node, doc_id: str, query_id: str | None) -> float | None:
        """Read a grade; report null (T105), booleans (T115), fractions (Q111), others (Q110).

        Whole numbers like ``2.0`` are read; they don't prevent scoring.
        """
        if node.is_whole:
            return float(node.text)
        code = {"null": "T105", "boolean": "T115", "number": "Q111"}.get(node.meaning, "Q110")
        is_integral = code == "Q111" and float(node.data).is_integer()
        self.problems.add(
            code,
            node.line,
            f"the grade of {visible(doc_id)} is {_shown(node)}, not a whole number",
            query_id=query_id,
            doc_id=doc_id,
            remedy="Write a whole number",
            blocks_scoring=False if is_integral else None,
        )
        return float(node.data) if is_integral else None

    def _by_purpose(
        self, mapping: Node, purposes: Purposes, required: set[str], query_id: str | None = None
    ) -> dict[str, list[Node]]:
        """Return the values of a mapping by purpose; report missing (T105) and unknown keys (T106).

        An unknown key that is similar to that of a missing purpose stands for it, without a value.
        In forms that allow additional fields, only such keys are reported.

        Args:
            mapping: The mapping.
            purposes: The keys of the schema.
            required: The purposes that it must have. Missing judgments are not reported.
            query_id: The test case of the mapping.
        """
        values: dict[str, list[Node]] = {}
        for name in filter(mapping.fields.__contains__, purposes):
            values.setdefault(purposes[name], []).append(mapping.fields[name])
        for name in itertools.filterfalse(purposes.__contains__, mapping.fields):
            key = mapping.fields[name].key or mapping
            near = self._similar(name, purposes)
            is_meant = purposes.get(near) in required - values.keys()
            if is_meant or self.strict or purposes is _TERM:
                what = f"unknown key '{visible(name)}'" + f"; did you mean '{near}'?" * bool(near)
                remedy = None if near else f"Known keys: {', '.join(purposes)}"
                self.problems.add("T106", key.line, what, query_id=query_id, remedy=remedy)
            values |= {purposes[near]: []} if is_meant else {}
        for what in sorted(required - values.keys() - {"judgments"}):
            self.problems.add(
                "T105",
                mapping.line,
                f"{what} is missing (fields: {listed([*mapping.fields])})",
                query_id=query_id,
            )
        return values

    def _similar(self, name: str, purposes: Purposes) -> str:
        """Return the most similar known key; empty if there is none."""
        if name not in self._near and len(self._near) < MAX_SPELLINGS_CHECKED:
            self._near[name] = get_close_matches(name[:64].lower(), purposes, 1, 0.75)
        return "".join(known for known in self._near.get(name, ()) if known in purposes)


def _shown(node: Node) -> str:
    return quoted(node.text) if node.meaning == "text" else node.describe()
