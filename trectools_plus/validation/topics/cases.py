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
from trectools_plus.formats.nodes.model import (
    JSON_CONSTANTS,
    Items,
    Mapping,
    Node,
    Scalar,
    Tree,
    describe,
)
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
        if isinstance(root, Mapping):
            self._read_mapping(root)
        elif isinstance(root, Items):
            # The fields of the cases determine the form.
            names = {
                name for case in root.items if isinstance(case, Mapping) for name in case.pairs
            }
            if not names.intersection(JUDGED_KEYS):
                self._kind = "topics"
            self._strict = not names.intersection(LISTED_KEYS) or bool(
                names.intersection(GRADED_KEYS)
            )
            self._read_cases(root, Cases(self._strict, self._cases))
        elif not is_empty(root):
            self._report_wrong_form(root, describe(root))

    def _read_mapping(self, root: Mapping) -> None:
        fields = root.fields
        if "queries" in fields or "test_cases" in fields:
            self._strict = "queries" in fields
            lines = {name: key.line for name, (key, _) in root.pairs.items()}
            document = Cases(self._strict, self._cases, lines=lines)
            if "metadata" in fields:
                self._read_metadata(fields["metadata"], document)
            if self._strict:
                self._check_keys(root, TOP_KEYS)
            self._read_cases(fields["queries" if self._strict else "test_cases"], document)
        elif not fields or self._check_keys(root, TOP_KEYS, only_near=True):
            return
        elif "metadata" in fields or root.scalars:
            self._report_wrong_form(root, listed(list(fields)))
        else:  # {query_id: {doc_id: grade}}
            for key, value in root.pairs.values():
                topic = Topic(key.line, read_id(key, "id", None, self.problems.add))
                if is_empty(value):
                    self._report_missing_judgments(key, topic)
                self._add_case(topic, [value])

    def _read_metadata(self, node: Node, document: Cases) -> None:
        """Read the metadata; values of other forms than those of this package become text."""
        if not isinstance(node, Mapping):
            if not is_empty(node):
                self._report_wrong_value(node, f"metadata is {describe(node)}, not a mapping")
            return
        document.metadata = node.fields
        for name in METADATA_KEYS:
            value = node.fields.get(name)
            is_text = isinstance(value, Scalar) and value.meaning == "text"
            if value is not None and self._strict and not is_text:
                self._report_wrong_value(value, f"{name} of the metadata is {_shown(value)}")
            elif name == "language" and isinstance(value, Scalar) and value.text:
                self._languages.append((value.line, None, value.text))

    def _report_wrong_form(self, node: Node, seen: str) -> None:
        what = f"expected a list of test cases, 'queries' or 'test_cases' but got {seen}"
        remedy = "Give each test case an id, a text and its relevant documents"
        self._report(node, "T105", what, remedy=remedy)

    def _read_cases(self, node: Node, document: Cases) -> None:
        self._document = document
        if isinstance(node, Mapping):
            for key, case in node.pairs.values():
                self._read_case(case, key)
        elif isinstance(node, Items):
            for case in node.items:
                self._read_case(case)
        elif not is_empty(node):
            self._report_wrong_form(node, describe(node))

    def _read_case(self, case: Node, key: Scalar | None = None) -> None:
        """Read a test case; ``key`` is its id if the cases are a mapping."""
        if not isinstance(case, Mapping):
            what = f"expected a test case with id and text but got {describe(case)}"
            self._report(case, "T105", what)
            return
        fields, topic = case.fields, Topic(case.line)
        id_node = _first(fields, ID_KEYS) or key
        text = _first(fields, TEXT_KEYS)
        judged = [case.pairs[name] for name in JUDGED_KEYS if name in fields]
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
        if "judgments" in missing:
            self._report_missing_judgments(case, topic)
        elif judged and all(is_empty(value) for _, value in judged):
            self._report_missing_judgments(judged[0][0], topic)
        added = self._add_case(topic, [value for _, value in judged])
        notes = (
            (name, self._read_note(name, fields[name], added.query_id))
            for name in NOTE_KEYS
            if name in fields
        )
        added.notes = {name: text for name, text in notes if text is not None}

    def _add_case(self, topic: Topic, judged: Sequence[Node]) -> CaseView:
        """Add a case; if several have the same id (T111, T112), the first has the judgments."""
        case = CaseView(topic, topic.query_id or number_of_case(len(self._cases) + 1))
        self._cases.append(case)
        values = [value for value in judged if not is_empty(value)]
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
        report = self.problems.add
        if isinstance(node, Scalar):
            what = f"expected judged documents but got {describe(node)}"
            self._report(node, "T105", what, query_id=query_id)
        elif isinstance(node, Mapping):
            for key, value in node.pairs.values():
                doc_id = read_id(key, "document id", query_id, report)
                if doc_id is not None:
                    yield Judgment(key.line, doc_id, self._grade(value, doc_id, query_id))
        else:
            for item in node.items:
                if isinstance(item, Mapping):
                    yield from self._term(item, query_id)
                    continue
                doc_id = read_id(item, "document id", query_id, report)
                if doc_id is not None:
                    yield Judgment(item.line, doc_id, 1.0)

    def _term(self, term: Mapping, query_id: str | None) -> Iterator[Judgment]:
        """Read ``{doc_id: …, grade: …, span: …}``: one judgment, or none without a document."""
        values = {name: _first(term.fields, keys) for name, keys in TERM_SPELLINGS.items()}
        missing = {name for name, value in values.items() if value is None}
        missing -= self._check_keys(term, TERM_KEYS, query_id, missing=missing)
        for what in sorted(missing):
            seen = f"{what} of a relevant document is missing"
            self._report(term, "T105", seen, query_id=query_id)
        place, grade = values["doc_id"], values["grade"]
        if place is None:
            return
        doc_id = read_id(place, "document id", query_id, self.problems.add)
        if doc_id is None:
            return
        value = None if grade is None else self._grade(grade, doc_id, query_id)
        span = term.fields.get(SPAN_KEY)
        text = span.text if isinstance(span, Scalar) and span.meaning == "text" else ""
        if span is not None and not text.strip() and not _is_null(span):
            self._report_wrong_value(span, f"{SPAN_KEY} is {_shown(span)}", query_id)
        yield Judgment(place.line, doc_id, value, text if text.strip() else None)

    def _grade(self, node: Node, doc_id: str, query_id: str | None) -> float | None:
        """Read a grade; report null (T105), booleans (T115), fractions (Q111), others (Q110).

        Whole numbers like ``2.0`` are read; they don't prevent scoring.
        """
        code, what = _grade_problem(node, visible(doc_id))
        is_integral = isinstance(node, Scalar) and _is_integral(node)
        if code:
            self._report(
                node,
                code,
                what,
                query_id=query_id,
                doc_id=doc_id,
                remedy=None if code == "Q111" else "Write a whole number",
                blocks_scoring=False if is_integral else None,
            )
        if isinstance(node, Scalar) and (is_integral or (node.meaning == "integer" and not code)):
            return float(node.text)
        return None

    def _check_keys(
        self,
        mapping: Mapping,
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
        for name, (key, _) in mapping.pairs.items():
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
                self._report(key, "T106", what, query_id=query_id, remedy=remedy)
        return meant

    def _report_wrong_value(self, node: Node, what: str, query_id: str | None = None) -> None:
        """Report a value of the wrong type (T118)."""
        remedy = None
        if isinstance(node, Scalar) and node.meaning not in ("text", "null"):
            remedy = f'Quote it: "{visible(node.text)}"'
        self._report(node, "T118", what, query_id=query_id, remedy=remedy)

    def _read_note(self, name: str, node: Node, query_id: str) -> str | None:
        """Return a note of a case; unknown words of other forms are ignored."""
        if _is_null(node):
            return None
        words = NOTE_WORDS.get(name)
        meanings = ("text",) if words or self._strict else ("text", "integer")
        text = node.text if isinstance(node, Scalar) and node.meaning in meanings else None
        if words and text not in words:
            if self._strict:
                what = f"{name} is {_shown(node)}, not one of {', '.join(words)}"
                self._report_wrong_value(node, what, query_id)
            return None
        if text is None:
            self._report_wrong_value(node, f"{name} is {_shown(node)}", query_id)
        elif name == "language" and text:
            self._languages.append((node.line, query_id, text))
        return text


def _is_integral(node: Scalar) -> bool:
    return node.meaning == "number" and _INTEGRAL.search(node.text) is not None


def _grade_problem(node: Node, doc_id: str) -> tuple[str, str]:
    """Return code and message for a grade not written as a whole number; else empty texts."""
    if not isinstance(node, Scalar):
        return "Q110", f"the grade of {doc_id} is {describe(node)}"
    shown = f"grade '{visible(node.text)}' of {doc_id}"
    if node.meaning in ("null", "boolean"):
        return ("T105" if node.meaning == "null" else "T115"), f"{shown} is {node.meaning}"
    if node.meaning == "number" and node.text not in JSON_CONSTANTS:
        state = "not written as an integer" if _is_integral(node) else "not a whole number"
        return "Q111", f"{shown} is {state}"
    is_other_integer = node.meaning == "integer" and node.value not in (None, node.text.lstrip("+"))
    if node.meaning in ("text", "other") or is_other_integer:
        return "Q110", f"{shown} is not a whole number"
    return "", ""  # T104 reports NaN and infinities


def _first(fields: dict[str, Node], names: Sequence[str]) -> Node | None:
    return next((fields[name] for name in names if name in fields), None)


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.data is None


def is_empty(node: Node) -> bool:
    """Return true if a value is null, or a list or mapping without content."""
    return (
        _is_null(node)
        or (isinstance(node, Items) and not node.items)
        or (isinstance(node, Mapping) and not node.pairs)
    )


def number_of_case(number: int) -> str:
    """Return the id of a case without an id: ``case-001`` for the first."""
    return f"case-{number:03d}"


def _shown(node: Node) -> str:
    """Format a value for the middle of a message."""
    if not isinstance(node, Scalar):
        return describe(node)
    shown = visible(node.text)
    return f"'{shown}'" if node.meaning == "text" else f"{shown}, which is not text"
