"""Ids, texts and grades out of a tree: what a loader would change is noted where it stands."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trectools_plus.formats.nodes.model import JSON_CONSTANTS, Node, Scalar, Tree, describe
from trectools_plus.text import quoted, visible
from trectools_plus.validation.registry import SeverityName
from trectools_plus.validation.topics.view import Trouble, Troubles


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


def read_id(node: Node, what: str, entry: Entry, troubles: Troubles) -> str | None:
    """Read an id as it is written.

    Args:
        node: The value.
        what: What it is the id of, for messages: "id", "document id".
        entry: The topic it belongs to.
        troubles: Where to note that it is null (T105) or no text to a loader (T114).
    """
    if not isinstance(node, Scalar):
        troubles.add("T105", _trouble(node, f"the {what} is {describe(node)}, not text", entry))
        return None
    if node.meaning == "null" or not node.text:
        said = "null" if node.meaning == "null" else "empty"
        troubles.add("T105", _trouble(node, f"{what} is {said}", entry))
        return None
    if node.meaning != "text" and node.text not in JSON_CONSTANTS:
        troubles.add("T114", _not_text(node, what, entry))
    elif node.core is not None:
        shown = visible(node.text)
        said, remedy = f"{what} {shown} is read as {node.core} by YAML 1.2", f'Quote it: "{shown}"'
        troubles.add("T114", _trouble(node, said, entry, severity="warning", remedy=remedy))
    return node.text


def _not_text(node: Scalar, what: str, entry: Entry) -> Trouble:
    shown = visible(node.text)
    harmless: SeverityName | None = None
    if node.meaning == "integer" and node.value is None:
        # Written as itself, it comes back unchanged once it is turned into text.
        harmless = "warning"
        said = f"{what} {shown} is a number, not text"
    else:
        said = f"{what} {shown} is a number, not text"
        if node.value is not None:
            by = " by YAML 1.1" if node.meaning == "integer" else ""
            said = f"{what} {shown} is read as {node.value}{by}"
    remedy = f'Quote it: "{shown}"'
    return _trouble(node, said, entry, severity=harmless, remedy=remedy)


def read_text(node: Node, entry: Entry, troubles: Troubles) -> str | None:
    """Read the text of a topic.

    Notes null (T105), another type (T115), a cut (T117) and an empty text (T121).
    """
    entry.text_line = node.line
    if not isinstance(node, Scalar):
        troubles.add("T105", _trouble(node, f"the text is {describe(node)}, not text", entry))
        return None
    if node.meaning == "null":
        troubles.add("T105", _trouble(node, "text is null", entry))
        return None
    if node.meaning != "text" and node.text not in JSON_CONSTANTS:
        shown = visible(node.text)
        same = node.meaning == "integer" and node.value is None
        read_as = node.value or f"the {node.meaning} {shown}"
        said = f"text {shown} is {read_as if node.meaning == 'boolean' else f'read as {read_as}'}"
        troubles.add(
            "T115",
            _trouble(
                node,
                said,
                entry,
                severity="warning" if same else None,
                remedy=f'Quote it: "{shown}"',
            ),
        )
    if node.cut is not None:
        trouble = _trouble(node, f"text cut at '#': {quoted(node.text)}", entry)
        if node.cut != node.line:  # it ends on another line than it begins
            trouble = replace(trouble, line=node.cut, column=None, fix="no")
        troubles.add("T117", trouble)
    if not node.text.strip():
        troubles.add("T121", _trouble(node, no_text(entry.query_id), entry))
    return node.text


def read_grade(node: Node, doc_id: str, entry: Entry, troubles: Troubles) -> float | None:
    """Read a grade; notes null (T105), booleans (T115), fractions (Q111) and the rest (Q110)."""
    found = _grade_problem(node)
    if found is None:
        assert isinstance(node, Scalar)
        return float(node.text)
    code, said, remedy = found
    if code:
        said = said.format(doc_id=visible(doc_id))
        trouble = _trouble(node, said, entry, doc_id=doc_id, remedy=remedy)
        troubles.add(code, replace(trouble, fix="no"))  # text can be quoted, a grade be guessed
    return None


def _grade_problem(node: Node) -> tuple[str, str, str | None] | None:
    """Code, message and remedy for a grade that is no whole number; ``None`` if it is one."""
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
            return "", "", None  # T104 says it
        return "Q111", f"grade {shown} of {{doc_id}} is no whole number", None
    if node.meaning != "integer":
        return "Q110", f"grade '{shown}' of {{doc_id}} is text, not a number", whole
    if node.value is not None and node.value != node.text.lstrip("+"):
        return "Q110", f"grade {shown} of {{doc_id}} is read as {node.value}", whole
    return None


def no_text(query_id: str | None) -> str:
    """That a topic has no text (T121)."""
    return "no text" if query_id is None else f"topic {visible(query_id)} has no text"


def note_repeats(tree: Tree, troubles: Troubles) -> None:
    """Note every key that a mapping has twice (T116)."""
    for repeat in tree.repeats:
        first, here = repeat.first, repeat.value
        where = f"line {first.line}" if first.line != here.line else f"column {first.column}"
        if isinstance(first, Scalar) and isinstance(here, Scalar):
            seen = f"({where}: {visible(first.text)}, here {visible(here.text)})"
        else:
            seen = f"(first on {where})"
        key = repeat.key
        said = f"{visible(key.text)} again {seen}; loaders keep the last"
        troubles.add("T116", Trouble(key.line, said, key.column))


def _trouble(
    node: Node,
    message: str,
    entry: Entry,
    *,
    doc_id: str | None = None,
    severity: SeverityName | None = None,
    remedy: str | None = None,
) -> Trouble:
    return Trouble(node.line, message, node.column, entry.query_id, doc_id, severity, remedy)
