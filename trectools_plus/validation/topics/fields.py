"""Read keys, ids, texts and grades of a tree, and collect their problems."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches

from trectools_plus.formats.columns.numbers import INTEGRAL
from trectools_plus.formats.nodes.model import JSON_CONSTANTS, Node, Scalar, Tree, describe
from trectools_plus.formats.topic_schema import ID_KEYS, JUDGED_KEYS, TERM_SPELLINGS, TEXT_KEYS
from trectools_plus.text import quoted, visible
from trectools_plus.validation.registry import SeverityName
from trectools_plus.validation.topics.view import Problem, Problems

_INTEGRAL = re.compile(INTEGRAL)
MAX_SPELLINGS_CHECKED = 200
"""Maximum number of unknown keys for which a similar known key is searched."""

_PURPOSE = {
    **{key: name for name, keys in TERM_SPELLINGS.items() for key in keys},
    **dict.fromkeys(ID_KEYS, "id"),
    **dict.fromkeys(TEXT_KEYS, "text"),
    **dict.fromkeys(JUDGED_KEYS, "judgments"),
}


@dataclass(slots=True)
class Entry:
    """A topic or test case while it is being read.

    Attributes:
        line: The line of its id, or where it starts.
        query_id: Its id.
        text: Its text.
        text_line: The line of its text.
    """

    line: int
    query_id: str | None = None
    text: str | None = None
    text_line: int | None = None

    def as_row(self) -> tuple[int, str | None, str | None, int]:
        """``line, query_id, text, text_line``."""
        return self.line, self.query_id, self.text, self.text_line or self.line


def read_id(node: Node, what: str, entry: Entry, problems: Problems) -> str | None:
    """Read an id as it is written in the file.

    Args:
        node: The value.
        what: The name of the value in messages: "id" or "document id".
        entry: The topic that it belongs to.
        problems: Collects the problems: null (T105), or a value that loaders do not read as text
            (T114).
    """
    if not isinstance(node, Scalar):
        problems.add("T105", _problem(node, f"the {what} is {describe(node)}, not text", entry))
        return None
    if node.meaning == "null" or not node.text:
        state = "null" if node.meaning == "null" else "empty"
        problems.add("T105", _problem(node, f"{what} is {state}", entry))
        return None
    if node.meaning != "text" and node.text not in JSON_CONSTANTS:
        problems.add("T114", _not_text(node, what, entry))
    elif node.core is not None:
        shown = visible(node.text)
        message, remedy = (
            f"{what} {shown} is read as {node.core} by YAML 1.2",
            f'Quote it: "{shown}"',
        )
        problems.add("T114", _problem(node, message, entry, severity="warning", remedy=remedy))
    return node.text


def _not_text(node: Scalar, what: str, entry: Entry) -> Problem:
    shown = visible(node.text)
    severity: SeverityName | None = None
    if node.meaning == "integer" and node.value is None:
        # The id does not change if a loader converts the number back to text.
        severity = "warning"
        message = f"{what} {shown} is a number, not text"
    else:
        message = f"{what} {shown} is a number, not text"
        if node.value is not None:
            by = " by YAML 1.1" if node.meaning == "integer" else ""
            message = f"{what} {shown} is read as {node.value}{by}"
    remedy = f'Quote it: "{shown}"'
    return _problem(node, message, entry, severity=severity, remedy=remedy)


def read_text(node: Node, entry: Entry, problems: Problems) -> str | None:
    """Read the text of a topic.

    Reports null (T105), values of other types (T115), a text cut at '#' (T117) and an empty text
    (T121).
    """
    entry.text_line = node.line
    if not isinstance(node, Scalar):
        problems.add("T105", _problem(node, f"the text is {describe(node)}, not text", entry))
        return None
    if node.meaning == "null":
        problems.add("T105", _problem(node, "text is null", entry))
        return None
    if node.meaning != "text" and node.text not in JSON_CONSTANTS:
        shown = visible(node.text)
        same = node.meaning == "integer" and node.value is None
        read_as = node.value or f"the {node.meaning} {shown}"
        message = (
            f"text {shown} is {read_as if node.meaning == 'boolean' else f'read as {read_as}'}"
        )
        problems.add(
            "T115",
            _problem(
                node,
                message,
                entry,
                severity="warning" if same else None,
                remedy=f'Quote it: "{shown}"',
            ),
        )
    if node.cut is not None:
        problem = _problem(node, f"text is cut at '#': {quoted(node.text)}", entry)
        if node.cut != node.line:  # it begins and ends on different lines
            problem = replace(problem, line=node.cut, column=None, fix="no")
        problems.add("T117", problem)
    if not node.text.strip():
        problems.add("T121", _problem(node, no_text(entry.query_id), entry))
    return node.text


def read_grade(node: Node, doc_id: str, entry: Entry, problems: Problems) -> float | None:
    """Read a grade; report null (T105), booleans (T115), fractions (Q111), other values (Q110).

    Whole numbers like ``2.0`` are read; they don't prevent scoring.
    """
    found = _grade_problem(node)
    if isinstance(node, Scalar) and node.meaning == "number" and _INTEGRAL.search(node.text):
        message = f"grade {visible(node.text)} of {visible(doc_id)} is not written as an integer"
        problem = _problem(node, message, entry, doc_id=doc_id)
        problems.add("Q111", replace(problem, fix="no", blocks_scoring=False))
        return float(node.text)
    if found is None:
        assert isinstance(node, Scalar)
        return float(node.text)
    code, message, remedy = found
    if code:
        message = message.format(doc_id=visible(doc_id))
        problem = _problem(node, message, entry, doc_id=doc_id, remedy=remedy)
        problems.add(code, replace(problem, fix="no"))  # quotes would not fix a grade
    return None


def _grade_problem(node: Node) -> tuple[str, str, str | None] | None:
    """Return code, message and remedy for a grade that is not a whole number; else ``None``."""
    whole = "Write a whole number"
    if not isinstance(node, Scalar):
        return "Q110", f"the grade of {{doc_id}} is {describe(node)}", whole
    shown = visible(node.text).replace("{", "{{").replace("}", "}}")
    if node.meaning == "null":
        return "T105", "the grade of {doc_id} is null", whole
    if node.meaning == "boolean":
        return "T115", f"grade {shown} of {{doc_id}} is {node.value}", whole
    if node.meaning == "number":
        if node.text in JSON_CONSTANTS:
            return "", "", None  # T104 reports it
        return "Q111", f"grade {shown} of {{doc_id}} is not a whole number", None
    if node.meaning != "integer":
        return "Q110", f"grade '{shown}' of {{doc_id}} is text, not a number", whole
    if node.value is not None and node.value != node.text.lstrip("+"):
        return "Q110", f"grade {shown} of {{doc_id}} is read as {node.value}", whole
    return None


def no_text(query_id: str | None) -> str:
    """Return the message for a topic without text (T121)."""
    return "no text" if query_id is None else f"topic {visible(query_id)} has no text"


def report_repeated_keys(tree: Tree, problems: Problems) -> None:
    """Report the repeated keys of mappings (T116)."""
    for repeat in tree.repeats:
        first, here = repeat.first, repeat.value
        where = f"line {first.line}" if first.line != here.line else f"column {first.column}"
        if isinstance(first, Scalar) and isinstance(here, Scalar):
            seen = f"({where}: {visible(first.text)}; here: {visible(here.text)})"
        else:
            seen = f"(first on {where})"
        key = repeat.key
        message = f"key {visible(key.text)} is repeated {seen}; loaders keep the last value"
        problems.add("T116", Problem(key.line, message, key.column))


def report_constants(tree: Tree, problems: Problems) -> None:
    """Report NaN and infinity in a JSON document (T104)."""
    for node in tree.constants:
        what, remedy = f"{node.text} is not valid JSON", "Write a number or null"
        problems.add("T104", Problem(node.line, what, node.column, remedy=remedy))


def _problem(
    node: Node,
    message: str,
    entry: Entry,
    *,
    doc_id: str | None = None,
    severity: SeverityName | None = None,
    remedy: str | None = None,
) -> Problem:
    return Problem(node.line, message, node.column, entry.query_id, doc_id, severity, remedy)


class Schema:
    """Reports keys that are not in the schema, with the most similar known key (T106).

    Args:
        problems: Collects the problems.
    """

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
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
            self._problems.add(
                "T106", Problem(key.line, message, key.column, query_id, remedy=remedy)
            )
            if fills_gap and purpose is not None:
                meant.add(purpose)
        return meant

    def _closest(self, key: str, known: tuple[str, ...]) -> str | None:
        """Return the most similar known key; ``None`` if none is similar."""
        if key not in self._near and len(self._near) < MAX_SPELLINGS_CHECKED:
            self._near[key] = get_close_matches(key[:64].lower(), known, 1, 0.75)
        return next((name for name in self._near.get(key, ()) if name in known), None)
