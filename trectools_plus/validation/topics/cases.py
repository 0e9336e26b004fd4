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
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches

import polars as pl

from trectools_plus.formats.columns.decimals import INTEGRAL
from trectools_plus.formats.nodes.model import (
    JSON_CONSTANTS,
    MAX_REPEATED,
    AliasResolver,
    Items,
    Mapping,
    Node,
    Scalar,
    TooMuchError,
    Tree,
    describe,
)
from trectools_plus.formats.topic_records.model import (
    Report,
    Topic,
    TopicProblem,
    read_id,
    read_text,
    report_constants,
    report_repeated_keys,
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


def read_grade(node: Node, doc_id: str, query_id: str | None, report: Report) -> float | None:
    """Read a grade; report null (T105), booleans (T115), fractions (Q111), other values (Q110).

    Whole numbers like ``2.0`` are read; they don't prevent scoring.
    """
    is_integral = isinstance(node, Scalar) and _is_integral(node)
    code, what = _grade_problem(node, visible(doc_id))
    if code:
        problem = TopicProblem(
            code,
            node.line,
            what,
            node.column,
            query_id,
            doc_id,
            remedy=None if code == "Q111" else "Write a whole number",
            fix="no",  # quotes would not fix a grade
            blocks_scoring=False if is_integral else None,
        )
        report(problem)
    if isinstance(node, Scalar) and (is_integral or (node.meaning == "integer" and not code)):
        return float(node.text)
    return None


def _is_integral(node: Scalar) -> bool:
    return node.meaning == "number" and _INTEGRAL.search(node.text) is not None


def _grade_problem(node: Node, doc_id: str) -> tuple[str, str]:
    """Return code and message for a grade not written as a whole number; else empty texts."""
    if not isinstance(node, Scalar):
        return "Q110", f"the grade of {doc_id} is {describe(node)}"
    shown = visible(node.text)
    if node.meaning == "null":
        return "T105", f"the grade of {doc_id} is null"
    if node.meaning == "boolean":
        return "T115", f"grade {shown} of {doc_id} is {node.value}"
    if node.meaning == "number":
        if node.text in JSON_CONSTANTS:
            return "", ""  # T104 reports it
        state = "not written as an integer" if _is_integral(node) else "not a whole number"
        return "Q111", f"grade {shown} of {doc_id} is {state}"
    if node.meaning != "integer":
        return "Q110", f"grade '{shown}' of {doc_id} is text, not a number"
    if node.value is not None and node.value != node.text.lstrip("+"):
        return "Q110", f"grade {shown} of {doc_id} is read as {node.value}"
    return "", ""


class Schema:
    """Reports keys that are not in the schema, with the most similar known key (T106).

    Args:
        report: Takes the problems.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._near: dict[str, list[str]] = {}

    def check(
        self,
        keys: Iterable[Scalar],
        known: tuple[str, ...],
        query_id: str | None = None,
        *,
        missing: Collection[str] | None = None,
        only_near: bool = False,
    ) -> set[str]:
        """Report unknown keys.

        Args:
            keys: The keys of a mapping.
            known: The keys of the schema.
            query_id: The test case of the mapping.
            missing: Fields that the mapping lacks, of which an unknown key may be a misspelling;
                all known keys if not given.
            only_near: Report only keys that seem to be misspellings of missing fields.

        Returns:
            The ``missing`` fields of which unknown keys seem to be misspellings.
        """
        meant: set[str] = set()
        for key in keys:
            if key.text in known:
                continue
            near = self._closest(key.text, known)
            purpose = _PURPOSE.get(near, near) if near is not None else None
            fills_gap = purpose is not None and (missing is None or purpose in missing)
            if only_near and not fills_gap:
                continue
            hint = f"; did you mean '{near}'?" if near is not None else ""
            remedy = None if near is not None else f"Known keys: {', '.join(known)}"
            message = f"unknown key '{visible(key.text)}'{hint}"
            self._report(
                TopicProblem("T106", key.line, message, key.column, query_id, remedy=remedy)
            )
            if fills_gap and purpose is not None:
                meant.add(purpose)
        return meant

    def _closest(self, key: str, known: tuple[str, ...]) -> str | None:
        """Return the most similar known key; ``None`` if none is similar."""
        if key not in self._near and len(self._near) < MAX_SPELLINGS_CHECKED:
            self._near[key] = get_close_matches(key[:64].lower(), known, 1, 0.75)
        return next((name for name in self._near.get(key, ()) if name in known), None)


Fields = dict[str, tuple[Scalar, Node]]
Judged = tuple[str, Node, float | None, str | None]
"""Document id, its node, its grade (``None`` if it is not a whole number), and its span."""


def read_test_set(tree: Tree, problems: Problems | None = None) -> TopicsContent:
    """Read a test set from its tree.

    Args:
        tree: The document.
        problems: Collects the problems; a new collection if not given.
    """
    reader = _Reader(Problems() if problems is None else problems, tree.n_values)
    report_repeated_keys(tree, reader.problems.add)
    report_constants(tree, reader.problems.add)
    if tree.root is not None:
        reader.read(tree.root)
    return reader.content()


class _Reader:
    """Reads the cases of a document, their judgments and notes.

    Args:
        problems: Collects the problems.
        n_values: The number of values of the document.
    """

    def __init__(self, problems: Problems, n_values: int) -> None:
        self.problems = problems
        self._report = problems.add
        self._aliases = AliasResolver(n_values)
        self._schema = Schema(problems.add)
        self._kind: Kind = "testset"
        self._topics: list[Topic] = []
        self._cases: Cases | None = None
        self._judgments: list[tuple[int, str, str, float | None, str | None]] = []
        self._judged: set[str] = set()
        self._languages: list[tuple[int, str | None, str]] = []

    def content(self) -> TopicsContent:
        """Return what was read so far."""
        judgments = pl.DataFrame(self._judgments, schema=JUDGMENTS_SCHEMA, orient="row")
        languages = pl.DataFrame(self._languages, schema=LANGUAGES_SCHEMA, orient="row")
        topics = table_of(self._topics, self.problems)
        return TopicsContent(topics, self.problems, judgments, self._kind, languages, self._cases)

    def read(self, root: Node) -> None:
        try:
            if isinstance(root, Items):
                self._read_list(root)
            elif isinstance(root, Mapping):
                self._read_mapping(root)
            elif not is_empty(root):
                self._report_wrong_form(root, describe(root))
        except TooMuchError as error:
            what = f"aliases repeat more than {MAX_REPEATED:,} values; the rest is not read"
            self._report(TopicProblem("T104", error.node.line, what, error.node.column))

    def _read_mapping(self, root: Mapping) -> None:
        pairs = self._aliases.fields(root)
        fields = {key.text: value for key, value in pairs}
        keys = [key for key, _ in pairs]
        if "queries" in fields or "test_cases" in fields:
            cases = Cases("queries" in fields, lines={key.text: key.line for key in keys})
            if "metadata" in fields:
                self._read_metadata(fields["metadata"], cases)
            if cases.strict:
                self._schema.check(keys, TOP_KEYS)
            self._read_cases(fields["queries" if cases.strict else "test_cases"], cases)
        elif not fields or self._schema.check(keys, TOP_KEYS, only_near=True):
            return
        elif "metadata" in fields or any(isinstance(value, Scalar) for value in fields.values()):
            self._report_wrong_form(root, listed(list(fields)))
        else:
            self._read_judgments_only(pairs)

    def _read_metadata(self, node: Node, cases: Cases) -> None:
        if isinstance(node, Mapping):
            pairs = self._aliases.fields(node)
            cases.metadata = {key.text: value for key, value in pairs}
            self._read_metadata_texts(pairs, strict=cases.strict)
        elif not (isinstance(node, Scalar) and node.meaning == "null"):
            self._report_wrong_value(node, f"metadata is {describe(node)}, not a mapping", None)

    def _report_wrong_form(self, node: Node, seen: str) -> None:
        what = f"expected a list of test cases, 'queries' or 'test_cases' but got {seen}"
        remedy = "Give each test case an id, a text and its relevant documents"
        self._report(TopicProblem("T105", node.line, what, node.column, remedy=remedy))

    def _read_list(self, root: Items) -> None:
        """Read a list of cases; the fields of the cases determine the form."""
        names = {
            key.text
            for case in self._aliases.items(root)
            if isinstance(case, Mapping)
            for key, _ in self._aliases.fields(case)
        }
        if not names.intersection(JUDGED_KEYS):
            self._kind = "topics"
        is_foreign = names.intersection(LISTED_KEYS) and not names.intersection(GRADED_KEYS)
        self._read_cases(root, Cases(strict=not is_foreign))

    def _read_cases(self, node: Node, cases: Cases) -> None:
        self._cases = cases
        if isinstance(node, Mapping):
            for key, case in self._aliases.fields(node):
                self._read_case(case, cases, key)
        elif isinstance(node, Items):
            for case in self._aliases.items(node):
                self._read_case(case, cases)
        elif not is_empty(node):
            self._report_wrong_form(node, describe(node))

    def _read_case(self, case: Node, cases: Cases, key: Scalar | None = None) -> None:
        """Read a test case.

        Args:
            case: The case.
            cases: Collects the data of cases. If strict, an id is required, and only fields of the
                schema are allowed.
            key: Its key, which is its id, if the cases are a mapping.
        """
        if not isinstance(case, Mapping):
            what = f"expected a test case with id and text but got {describe(case)}"
            self._report(TopicProblem("T105", case.line, what, case.column))
            return
        pairs = self._aliases.fields(case)
        fields = {name.text: (name, value) for name, value in pairs}
        topic = Topic(case.line)
        missing = self._read_id_and_text(fields, topic, key)
        if not cases.strict:
            missing.discard("id")
        judged = [fields[name] for name in JUDGED_KEYS if name in fields]
        if not judged and self._kind == "testset":
            missing.add("judgments")
        names = (name for name, _ in pairs)
        meant = self._schema.check(
            names, CASE_KEYS, topic.query_id, missing=missing, only_near=not cases.strict
        )
        for what in sorted(missing - meant - {"judgments"}):
            seen = f"{what} is missing (fields: {listed(list(fields))})"
            self._report(TopicProblem("T105", case.line, seen, case.column, topic.query_id))
        self._topics.append(topic)
        named = topic.query_id or number_of_case(len(self._topics))
        cases.notes.append(self._read_notes(fields, named, strict=cases.strict))
        first_row = len(self._judgments)
        for _, value in judged:
            self._read_judgments(value, topic)
        cases.judged.append(range(first_row, len(self._judgments)))
        if "judgments" in missing - meant:
            self._report_missing_judgments(case, topic)
        elif judged and all(is_empty(value) for _, value in judged):
            self._report_missing_judgments(judged[0][0], topic)

    def _read_id_and_text(self, fields: Fields, topic: Topic, key: Scalar | None) -> set[str]:
        """Read id and text into ``topic``, and return the missing ones."""
        missing = set()
        id_node: Node | None = next((fields[name][1] for name in ID_KEYS if name in fields), key)
        if id_node is None:
            missing.add("id")
        else:
            topic.query_id = read_id(id_node, "id", None, self._report)
            topic.line = id_node.line
        text_node = next((fields[name][1] for name in TEXT_KEYS if name in fields), None)
        if text_node is None:
            missing.add("text")
        else:
            read_text(text_node, topic, self._report)
        return missing

    def _read_judgments_only(self, pairs: list[tuple[Scalar, Node]]) -> None:
        """Read ``{query_id: {doc_id: grade}}``."""
        for key, value in pairs:
            topic = Topic(key.line, read_id(key, "id", None, self._report))
            self._topics.append(topic)
            if is_empty(value):
                self._report_missing_judgments(key, topic)
            self._read_judgments(value, topic)

    def _read_judgments(self, node: Node, topic: Topic) -> None:
        """Read the judgments of the last case: a list of documents, or a mapping with grades.

        If several cases have the same id (T111, T112), only the judgments of the first are read.
        """
        if is_empty(node):
            return
        if isinstance(node, Scalar):
            what = f"expected judged documents but got {describe(node)}"
            self._report(TopicProblem("T105", node.line, what, node.column, topic.query_id))
            return
        query_id = topic.query_id or number_of_case(len(self._topics))
        if query_id in self._judged:
            return
        self._judged.add(query_id)
        for doc_id, place, grade, span in self._iter_judged(node, topic.query_id):
            self._judgments.append((place.line, query_id, doc_id, grade, span))

    def _report_missing_judgments(self, place: Node, topic: Topic) -> None:
        query = f" for query {visible(topic.query_id)}" if topic.query_id is not None else ""
        what = f"no judgments{query}; it is left out of the mean"
        self._report(TopicProblem("T131", place.line, what, place.column, topic.query_id))

    def _iter_judged(self, node: Items | Mapping, query_id: str | None) -> Iterator[Judged]:
        if isinstance(node, Mapping):
            for key, value in self._aliases.fields(node):
                doc_id = read_id(key, "document id", query_id, self._report)
                if doc_id is not None:
                    yield doc_id, key, read_grade(value, doc_id, query_id, self._report), None
            return
        for item in self._aliases.items(node):
            if isinstance(item, Mapping):
                yield from self._iter_term(item, query_id)
            else:
                doc_id = read_id(item, "document id", query_id, self._report)
                if doc_id is not None:
                    yield doc_id, item, 1.0, None

    def _iter_term(self, term: Mapping, query_id: str | None) -> Iterator[Judged]:
        """Read ``{doc_id: …, grade: …, span: …}``: one judgment, or none without a document."""
        pairs = self._aliases.fields(term)
        fields = {key.text: value for key, value in pairs}
        found = {
            name: next((fields[key] for key in spellings if key in fields), None)
            for name, spellings in TERM_SPELLINGS.items()
        }
        missing = {name for name, node in found.items() if node is None}
        keys = (key for key, _ in pairs)
        meant = self._schema.check(keys, TERM_KEYS, query_id, missing=missing)
        for what in sorted(missing - meant):
            seen = f"{what} of a relevant document is missing"
            self._report(TopicProblem("T105", term.line, seen, term.column, query_id))
        place, grade = found["doc_id"], found["grade"]
        doc_id = None
        if place is not None:
            doc_id = read_id(place, "document id", query_id, self._report)
        if place is None or doc_id is None:
            return
        value = None if grade is None else read_grade(grade, doc_id, query_id, self._report)
        yield doc_id, place, value, self._read_span(fields.get(SPAN_KEY), query_id)

    def _read_notes(self, fields: Fields, query_id: str, *, strict: bool) -> dict[str, str]:
        """Read the notes of a test case.

        Args:
            fields: Its fields.
            query_id: The id of the case.
            strict: True for a form of this package; unknown words of other forms are ignored.
        """
        found = {}
        for name in NOTE_KEYS:
            if name in fields:
                text = self._read_note(name, fields[name][1], query_id, strict=strict)
                if text is not None:
                    found[name] = text
        return found

    def _read_metadata_texts(self, pairs: Iterable[tuple[Scalar, Node]], *, strict: bool) -> None:
        """Check the metadata of a set, and read its language.

        Args:
            pairs: Keys and values.
            strict: True for a form of this package; values of other forms are converted to text.
        """
        for key, node in pairs:
            if key.text not in METADATA_KEYS:
                continue
            if strict and not _is_text(node):
                self._report_wrong_value(
                    node, f"{key.text} of the metadata is {_shown(node)}", None
                )
            elif key.text == "language" and isinstance(node, Scalar) and node.text:
                self._languages.append((node.line, None, node.text))

    def _read_span(self, node: Node | None, query_id: str | None) -> str | None:
        """Read the words of a text that name a document; ``None`` without any."""
        if node is None or (isinstance(node, Scalar) and node.meaning == "null"):
            return None
        if isinstance(node, Scalar) and node.meaning == "text" and node.text.strip():
            return node.text
        self._report_wrong_value(node, f"{SPAN_KEY} is {_shown(node)}", query_id)
        return None

    def _report_wrong_value(self, node: Node, what: str, query_id: str | None) -> None:
        """Report a value of the wrong type."""
        remedy = None
        if isinstance(node, Scalar) and node.meaning not in ("text", "null"):
            remedy = f'Quote it: "{visible(node.text)}"'
        self._report(TopicProblem("T118", node.line, what, node.column, query_id, remedy=remedy))

    def _read_note(
        self, name: str, node: Node, query_id: str | None, *, strict: bool
    ) -> str | None:
        if isinstance(node, Scalar) and node.meaning == "null":
            return None
        words = NOTE_WORDS.get(name)
        if words is not None:
            if isinstance(node, Scalar) and node.meaning == "text" and node.text in words:
                return node.text
            if strict:
                what = f"{name} is {_shown(node)}, not one of {', '.join(words)}"
                self._report_wrong_value(node, what, query_id)
            return None
        if not isinstance(node, Scalar) or node.meaning not in (
            ("text",) if strict else ("text", "integer")
        ):
            self._report_wrong_value(node, f"{name} is {_shown(node)}", query_id)
            return None
        if name == "language" and node.text:
            self._languages.append((node.line, query_id, node.text))
        return node.text


def is_empty(node: Node) -> bool:
    """Return true if a value is null, or a list or mapping without content."""
    if isinstance(node, Scalar):
        return node.meaning == "null"
    return not (node.items if isinstance(node, Items) else (node.pairs or node.merged))


def number_of_case(number: int) -> str:
    """Return the id of a case without an id: ``case-001`` for the first."""
    return f"case-{number:03d}"


def _is_text(node: Node) -> bool:
    return isinstance(node, Scalar) and node.meaning == "text"


def _shown(node: Node) -> str:
    """Format a value for the middle of a message."""
    if not isinstance(node, Scalar):
        return describe(node)
    shown = visible(node.text)
    return f"'{shown}'" if node.meaning == "text" else f"{shown}, which is not text"
