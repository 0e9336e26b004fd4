"""Test sets in YAML or JSON: queries with their judgments, in several forms.

::

    {metadata: {…}, queries: [{query_id, text, relevant: [{doc_id, grade, span}], …}]}
    {queries: [{id, text, relevant: {doc_id: grade}}]}
    {queries: [{query_id, query_text, relevant_docs: [{doc_id, grade}]}]}     or {doc_id: grade}
    {metadata: {…}, test_cases: [{text, expected_hpo_ids: [HP:…]}]}     or only the list
    {query_id: {doc_id: grade}}     or {query_id: [doc_id, …]}

The last form has only judgments. The first three are the forms of this package, with a fixed set of
fields. Additional fields of the fourth form are ignored.

Both the validator and :func:`trectools_plus.load_test_set` use this reader.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import polars as pl

from trectools_plus.formats.columns.decimals import INTEGRAL
from trectools_plus.formats.nodes.model import JSON_CONSTANTS, Node, Tree
from trectools_plus.formats.topic_records.model import (
    Topic,
    TopicProblem,
    read_id,
    read_text,
    report_tree,
)
from trectools_plus.formats.topic_records.schema import (
    CASE_KEYS,
    GRADED_KEYS,
    ID_KEYS,
    JUDGED_KEYS,
    LISTED_KEYS,
    METADATA_KEYS,
    NOTE_KEYS,
    NOTE_WORDS,
    SPAN_KEY,
    TERM_KEYS,
    TERM_SPELLINGS,
    TEXT_KEYS,
    TOP_KEYS,
)
from trectools_plus.text import listed, visible
from trectools_plus.validation.views.topics import (
    JUDGMENTS_SCHEMA,
    LANGUAGES_SCHEMA,
    Cases,
    CaseView,
    Judgment,
    Kind,
    Problems,
    TopicsContent,
    table_of,
)

_INTEGRAL = re.compile(INTEGRAL)
MAX_SPELLINGS_CHECKED = 200
"""Maximum number of unknown keys for which a similar known key is searched."""

_PURPOSE = {
    **{key: name for name, keys in TERM_SPELLINGS.items() for key in keys},
    **dict.fromkeys(ID_KEYS, "id"),
    **dict.fromkeys(TEXT_KEYS, "text"),
    **dict.fromkeys(JUDGED_KEYS, "judgments"),
}


def read_test_set(tree: Tree, problems: Problems | None = None) -> TopicsContent:
    """Read a test set from its tree.

    Args:
        tree: The document.
        problems: Collects the problems; a new collection if not given.
    """
    reader = _Reader(Problems() if problems is None else problems)
    report_tree(tree, reader.problems.add)
    if tree.root is not None:
        reader.read(tree.root)
    return reader.content()


class _Reader:
    """Reads the cases of a document, their judgments and notes.

    Args:
        problems: Collects the problems.
    """

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self._near: dict[str, list[str]] = {}
        self._kind: Kind = "testset"
        self._cases: list[CaseView] = []
        self._document: Cases | None = None
        self._strict = True
        self._judged: set[str] = set()
        self._languages: list[tuple[int, str | None, str]] = []

    def content(self) -> TopicsContent:
        """Return what was read so far."""
        rows = [
            (judged.line, case.query_id, judged.doc_id, judged.grade, judged.span)
            for case in self._cases
            for judged in case.judged
        ]
        return TopicsContent(
            table_of((case.topic for case in self._cases), self.problems),
            self.problems,
            pl.DataFrame(rows, schema=JUDGMENTS_SCHEMA, orient="row"),
            self._kind,
            pl.DataFrame(self._languages, schema=LANGUAGES_SCHEMA, orient="row"),
            self._document,
        )

    def _report(self, node: Node, code: str, message: str, **further: Any) -> None:
        self.problems.add(TopicProblem.at(node, code, message, **further))

    def read(self, root: Node) -> None:
        fields = root.fields
        if root.items:
            # The fields of the cases determine the form.
            names = {name for case in root.items for name in case.fields}
            self._kind = "testset" if names.intersection(JUDGED_KEYS) else "topics"
            is_listed = names.intersection(LISTED_KEYS) and not names.intersection(GRADED_KEYS)
            self._strict = not is_listed
            self._read_cases(root, Cases(self._strict, self._cases))
        elif "queries" in fields or "test_cases" in fields:
            self._strict = "queries" in fields
            lines = {name: (value.key or value).line for name, value in fields.items()}
            document = Cases(self._strict, self._cases, lines=lines)
            if "metadata" in fields:
                self._read_metadata(fields["metadata"], document)
            if self._strict:
                self._check_keys(root, TOP_KEYS)
            self._read_cases(fields["queries" if self._strict else "test_cases"], document)
        elif root.is_empty or self._check_keys(root, TOP_KEYS, only_near=True):
            return
        elif "metadata" in fields or any(value.is_scalar for value in fields.values()):
            self._report_wrong_form(root, listed(list(fields)))
        elif root.is_scalar:
            self._report_wrong_form(root, root.describe())
        else:  # {query_id: {doc_id: grade}}
            for value in fields.values():
                key = value.key or value
                topic = Topic(key.line, read_id(key, "id", None, self.problems.add))
                if value.is_empty:
                    self._report_missing_judgments(key, topic)
                self._add_case(topic, [value])

    def _read_metadata(self, node: Node, document: Cases) -> None:
        """Read the metadata; values of other forms than those of this package become text."""
        if not node.fields and not node.is_empty:
            self._report_wrong_value(node, f"metadata is {node.describe()}, not a mapping")
        document.metadata = node.fields
        for name in METADATA_KEYS:
            value = node.fields.get(name)
            if value is not None and self._strict and value.meaning != "text":
                self._report_wrong_value(value, f"{name} of the metadata is {_shown(value)}")
            elif name == "language" and value is not None and value.text:
                self._languages.append((value.line, None, value.text))

    def _report_wrong_form(self, node: Node, seen: str) -> None:
        what = f"expected a list of test cases, 'queries' or 'test_cases' but got {seen}"
        remedy = "Give each test case an id, a text and its relevant documents"
        self._report(node, "T105", what, remedy=remedy)

    def _read_cases(self, node: Node, document: Cases) -> None:
        self._document = document
        for case in node.items or node.fields.values():
            self._read_case(case)
        if node.is_scalar and not node.is_empty:
            self._report_wrong_form(node, node.describe())

    def _read_case(self, case: Node) -> None:
        """Read a test case, whose key is its id if the cases are a mapping."""
        if not case.fields:
            what = f"expected a test case with id and text but got {case.describe()}"
            self._report(case, "T105", what)
            return
        fields, topic = case.fields, Topic(case.line)
        id_node = _first(fields, ID_KEYS) or case.key
        text = _first(fields, TEXT_KEYS)
        judged = [fields[name] for name in JUDGED_KEYS if name in fields]
        required = {
            "id": id_node or not self._strict,
            "text": text,
            "judgments": judged or self._kind == "topics",
        }
        missing = {what for what, value in required.items() if not value}
        if id_node is not None:
            topic.query_id = read_id(id_node, "id", None, self.problems.add)
            topic.line = id_node.line
        if text is not None:
            read_text(text, topic, self.problems.add)
        missing -= self._check_keys(
            case, CASE_KEYS, topic.query_id, missing=missing, only_near=not self._strict
        )
        for what in sorted(missing - {"judgments"}):
            seen = f"{what} is missing (fields: {listed(list(fields))})"
            self._report(case, "T105", seen, query_id=topic.query_id)
        if "judgments" in missing or (judged and all(value.is_empty for value in judged)):
            place = (judged[0].key or judged[0]) if judged else case
            self._report_missing_judgments(place, topic)
        added = self._add_case(topic, judged)
        notes = {
            name: self._read_note(name, fields[name], added.query_id)
            for name in NOTE_KEYS
            if name in fields
        }
        added.notes = {name: note for name, note in notes.items() if note is not None}

    def _add_case(self, topic: Topic, judged: Sequence[Node]) -> CaseView:
        """Add a case; if several have the same id (T111, T112), the first has the judgments."""
        case = CaseView(topic, topic.query_id or number_of_case(len(self._cases) + 1))
        self._cases.append(case)
        values = [value for value in judged if not value.is_empty]
        if values and case.query_id not in self._judged:
            self._judged.add(case.query_id)
            case.judged = [
                term for value in values for term in self._judgments(value, topic.query_id)
            ]
        return case

    def _report_missing_judgments(self, place: Node, topic: Topic) -> None:
        query = f" for query {visible(topic.query_id)}" if topic.query_id is not None else ""
        what = f"no judgments{query}; it is left out of the mean"
        self._report(place, "T131", what, query_id=topic.query_id)

    def _judgments(self, node: Node, query_id: str | None) -> Iterator[Judgment]:
        """Yield the judgments of a list of documents, or of a mapping with grades."""
        if node.is_scalar:
            what = f"expected judged documents but got {node.describe()}"
            self._report(node, "T105", what, query_id=query_id)
        for item in node.items or node.fields.values():
            if node.items and item.fields:
                yield from self._term(item, query_id)
                continue
            place = item.key or item
            doc_id = read_id(place, "document id", query_id, self.problems.add)
            if doc_id is not None:
                grade = 1.0 if node.items else self._grade(item, doc_id, query_id)
                yield Judgment(place.line, doc_id, grade)

    def _term(self, term: Node, query_id: str | None) -> Iterator[Judgment]:
        """Read ``{doc_id: …, grade: …, span: …}``: one judgment, or none without a document."""
        values = {name: _first(term.fields, keys) for name, keys in TERM_SPELLINGS.items()}
        missing = {name for name, value in values.items() if value is None}
        missing -= self._check_keys(term, TERM_KEYS, query_id, missing=missing)
        for what in sorted(missing):
            seen = f"{what} of a relevant document is missing"
            self._report(term, "T105", seen, query_id=query_id)
        place, grade, span = values["doc_id"], values["grade"], term.fields.get(SPAN_KEY)
        if place is None:
            return
        doc_id = read_id(place, "document id", query_id, self.problems.add)
        if doc_id is None:
            return
        value = None if grade is None else self._grade(grade, doc_id, query_id)
        words = span.text if span is not None and span.meaning == "text" else ""
        if span is not None and not words.strip() and span.data is not None:
            self._report_wrong_value(span, f"{SPAN_KEY} is {_shown(span)}", query_id)
        yield Judgment(place.line, doc_id, value, words if words.strip() else None)

    def _grade(self, node: Node, doc_id: str, query_id: str | None) -> float | None:
        """Read a grade; report null (T105), booleans (T115), fractions (Q111), others (Q110).

        Whole numbers like ``2.0`` are read; they don't prevent scoring.
        """
        code, what = _grade_problem(node)
        is_integral = _is_integral(node)
        if code:
            self._report(
                node,
                code,
                f"the grade of {visible(doc_id)} is {what}",
                query_id=query_id,
                doc_id=doc_id,
                remedy=None if code == "Q111" else "Write a whole number",
                blocks_scoring=False if is_integral else None,
            )
        is_grade = is_integral or (node.meaning == "integer" and not code)
        return float(node.text) if is_grade else None

    def _check_keys(
        self,
        mapping: Node,
        known: tuple[str, ...],
        query_id: str | None = None,
        *,
        missing: Collection[str] | None = None,
        only_near: bool = False,
    ) -> set[str]:
        """Report keys that are not in the schema, with the most similar known key (T106).

        Args:
            mapping: The mapping.
            known: The keys of the schema.
            query_id: The test case of the mapping.
            missing: Fields that the mapping lacks, of which an unknown key may be a misspelling;
                all known keys if not given.
            only_near: Report only keys that seem to be misspellings of missing fields.

        Returns:
            The ``missing`` fields of which unknown keys seem to be misspellings.
        """
        meant: set[str] = set()
        for name, value in mapping.fields.items():
            if name in known:
                continue
            if name not in self._near and len(self._near) < MAX_SPELLINGS_CHECKED:
                self._near[name] = get_close_matches(name[:64].lower(), known, 1, 0.75)
            near = next((one for one in self._near.get(name, ()) if one in known), "")
            purpose = _PURPOSE.get(near, near)
            fills_gap = bool(near) and (missing is None or purpose in missing)
            if fills_gap:
                meant.add(purpose)
            if fills_gap or not only_near:
                hint = f"; did you mean '{near}'?" if near else ""
                remedy = None if near else f"Known keys: {', '.join(known)}"
                what = f"unknown key '{visible(name)}'{hint}"
                self._report(value.key or value, "T106", what, query_id=query_id, remedy=remedy)
        return meant

    def _report_wrong_value(self, node: Node, what: str, query_id: str | None = None) -> None:
        """Report a value of the wrong type (T118)."""
        is_quotable = node.is_scalar and node.meaning not in ("text", "null")
        remedy = f'Quote it: "{visible(node.text)}"' if is_quotable else None
        self._report(node, "T118", what, query_id=query_id, remedy=remedy)

    def _read_note(self, name: str, node: Node, query_id: str) -> str | None:
        """Return a note of a case; unknown words of other forms are ignored."""
        words = NOTE_WORDS.get(name)
        meanings = ("text",) if words or self._strict else ("text", "integer")
        text = node.text if node.meaning in meanings else None
        if node.data is None or (words and text not in words and not self._strict):
            return None
        if words and text not in words:
            what = f"{name} is {_shown(node)}, not one of {', '.join(words)}"
            self._report_wrong_value(node, what, query_id)
            return None
        if text is None:
            self._report_wrong_value(node, f"{name} is {_shown(node)}", query_id)
        elif name == "language" and text:
            self._languages.append((node.line, query_id, text))
        return text


def _is_integral(node: Node) -> bool:
    return node.meaning == "number" and _INTEGRAL.search(node.text) is not None


def _grade_problem(node: Node) -> tuple[str, str]:
    """Return code and message for a grade not written as a whole number; else empty texts."""
    shown = f"'{visible(node.text)}', which is"
    if node.meaning in ("null", "boolean"):
        return ("T105" if node.meaning == "null" else "T115"), f"{shown} {node.meaning}"
    if node.text in JSON_CONSTANTS and node.meaning == "number":
        return "", ""  # T104 reports NaN and infinities
    if node.meaning == "number":
        state = "not written as an integer" if _is_integral(node) else "not a whole number"
        return "Q111", f"{shown} {state}"
    if node.meaning == "integer" and node.value in (None, node.text.lstrip("+")):
        return "", ""
    return "Q110", f"{shown} not a whole number" if node.is_scalar else node.describe()


def _first(fields: dict[str, Node], names: Sequence[str]) -> Node | None:
    return next((fields[name] for name in names if name in fields), None)


def number_of_case(number: int) -> str:
    """Return the id of a case without an id: ``case-001`` for the first."""
    return f"case-{number:03d}"


def _shown(node: Node) -> str:
    """Format a value for the middle of a message."""
    if not node.is_scalar:
        return node.describe()
    shown = visible(node.text)
    return f"'{shown}'" if node.meaning == "text" else f"{shown}, which is not text"
