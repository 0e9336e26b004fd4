"""Records and topics of a file, their ids and texts, and the problems found in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from trectools_plus.errors import FormatError
from trectools_plus.formats.nodes.model import JSON_CONSTANTS, Node, Tree, TreeError
from trectools_plus.text import quoted, visible


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """Fields to read; by default, their names decide.

    Attributes:
        id_field: The field with the id.
        text_fields: The fields with the text, joined by blanks.
    """

    id_field: str | None = None
    text_fields: tuple[str, ...] = ()


DEFAULTS = TopicOptions()


@dataclass(slots=True)
class Topic:
    """One topic of a file, or one case of a test set.

    Attributes:
        line: The line of its id, or on which it starts, from 1.
        query_id: Its id; ``None`` if it is missing or empty.
        text: Its text; ``None`` if it is missing or not a single value.
        other_fields: Its other fields by name.
        text_line: The line on which its text starts; ``None`` if unknown.
    """

    line: int
    query_id: str | None = None
    text: str | None = None
    other_fields: dict[str, str] = field(default_factory=dict)
    text_line: int | None = None


@dataclass(slots=True)
class Record:
    """One record of a file: a JSON object, an XML element, or a row.

    Attributes:
        line: The line on which it starts, from 1.
        fields: Its scalar fields by name, in the order of the file.
        query_id: Its id, if its place and not a field determines it: the key of a mapping.
        hidden: Names that are fields but not columns, for example attributes of XML.
    """

    line: int
    fields: dict[str, Node]
    query_id: str | None = None
    hidden: frozenset[str] = frozenset()


@dataclass(slots=True)
class Records:
    """The records of a file.

    Attributes:
        found: The records.
        format_name: The name of the format in messages.
        is_plain: True for the formats whose topics are read without a note.
        is_typed: True for JSON Lines, in which an id and a text must be texts.
    """

    found: list[Record]
    format_name: str
    is_plain: bool = False
    is_typed: bool = False


@dataclass(frozen=True, slots=True)
class TopicProblem:
    """A problem in a file of topics or in a test set.

    Attributes:
        code: The rule of ``topics validate`` that reports it.
        line: The line, from 1.
        message: The problem.
        column: The character column, from 1; only in TSV.
        query_id: The topic.
        doc_id: The document.
        severity: If it differs from the severity of the rule: ``warning`` if the topics can be read
            as meant.
        remedy: What the user can do about it, if it differs from the remedy of the rule.
        blocks_scoring: ``False`` if the file can be scored.
    """

    code: str
    line: int
    message: str
    column: int | None = None
    query_id: str | None = None
    doc_id: str | None = None
    severity: Literal["error", "warning", "info"] | None = None
    remedy: str | None = None
    blocks_scoring: bool | None = None

    @classmethod
    def at(cls, node: Node, code: str, message: str, **further: Any) -> TopicProblem:
        """Return the problem of a value; ``further`` are attributes of this class."""
        return cls(code, node.line, message, **further)


Report = Callable[[TopicProblem], None]
"""Takes a problem that a reader found; may raise an error."""
Note = Callable[[str], None]
"""Takes a description of the format and the fields of a file, if they are not the usual ones."""


def syntax_problem(error: TreeError, remedy: str | None = None) -> TopicProblem:
    """Return the problem of a file or a line that cannot be parsed (T104)."""
    remedy = remedy or (error.remedy and error.remedy[:1].upper() + error.remedy[1:])
    return TopicProblem("T104", error.line, error.what, remedy=remedy)


def refuse(path: str) -> Report:
    """Return a function that raises a ``FormatError`` for a problem that is not a warning."""

    def report(problem: TopicProblem) -> None:
        if problem.severity != "warning" and problem.blocks_scoring is not False:
            raise FormatError(
                f"{problem.message} ({problem.code})",
                path=path,
                line=problem.line,
                column=problem.column,
                remedy=problem.remedy and problem.remedy[:1].lower() + problem.remedy[1:],
            )

    return report


def read_id(node: Node, what: str, query_id: str | None, report: Report) -> str | None:
    """Read an id as it is written in the file; ``None`` without one.

    Args:
        node: The value.
        what: The name of the value in messages: "id" or "document id".
        query_id: The topic that it belongs to, if that is known.
        report: Takes the problems: null (T105), or a value that loaders do not read as text (T114).
    """
    if node.is_scalar and not node.text and node.data is not None:
        report(TopicProblem.at(node, "T105", f"{what} is empty", query_id=query_id))
        return None
    return _read_scalar(node, what, "T114", query_id, report)


def read_text(node: Node, topic: Topic, report: Report) -> None:
    """Read the text of a topic, and its place.

    Reports null (T105), values of other types (T115) and a text cut at '#' (T117).
    """
    topic.text_line = node.line
    topic.text = _read_scalar(node, "text", "T115", topic.query_id, report)
    if node.cut is not None:
        what = f"text is cut at '#': {quoted(node.text)}"
        report(TopicProblem("T117", node.cut, what, query_id=topic.query_id))


def _read_scalar(
    node: Node, what: str, code: str, query_id: str | None, report: Report
) -> str | None:
    if not node.is_scalar or node.data is None:
        state = "is null" if node.is_scalar else f"is {node.describe()}, not text"
        report(TopicProblem.at(node, "T105", f"{what} {state}", query_id=query_id))
        return None
    if node.meaning != "text" and node.text not in JSON_CONSTANTS:  # T104 reports constants
        shown = visible(node.text)
        read_as = node.value or f"the {node.meaning} {shown}"
        problem = TopicProblem(
            code,
            node.line,
            f"{what} {shown} is read as {read_as}",
            query_id=query_id,
            # A whole number stays the same if it is converted back to text.
            severity="warning" if node.meaning == "integer" and node.value is None else None,
            remedy=f'Quote it: "{shown}"',
        )
        report(problem)
    return node.text


def report_empty_text(topic: Topic, report: Report) -> None:
    """Report a text without visible characters (T121)."""
    if topic.text is None or topic.text.strip():
        return
    what = "no text" if topic.query_id is None else f"topic {visible(topic.query_id)} has no text"
    line, remedy = topic.text_line or topic.line, "Write a text, or remove the topic"
    report(TopicProblem("T121", line, what, query_id=topic.query_id, remedy=remedy))


def report_tree(tree: Tree, report: Report) -> None:
    """Report the repeated keys of mappings (T116), and NaN and infinity in JSON (T104)."""
    for key in tree.repeats:
        message = f"key {visible(key.text)} is repeated; loaders keep the last value"
        report(TopicProblem.at(key, "T116", message, remedy="Keep one of them"))
    for node in tree.constants:
        what, remedy = f"{node.text} is not valid JSON", "Write a number or null"
        report(TopicProblem.at(node, "T104", what, remedy=remedy))
