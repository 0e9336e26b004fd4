"""Records and topics of a file, their ids and texts, and the problems found in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from trectools_plus.errors import FormatError
from trectools_plus.formats.nodes.model import (
    JSON_CONSTANTS,
    Node,
    Scalar,
    Tree,
    TreeError,
    describe,
)
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

    @property
    def names_fields(self) -> bool:
        """True if the user names a field."""
        return self.id_field is not None or bool(self.text_fields)


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
    fields: dict[str, Scalar]
    query_id: str | None = None
    hidden: frozenset[str] = frozenset()


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
        refused: True if loaders refuse the file, although this is only a warning.
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
    refused: bool = False

    @classmethod
    def at(cls, node: Node, code: str, message: str, **further: Any) -> TopicProblem:
        """Return the problem of a value; ``further`` are attributes of this class."""
        return cls(code, node.line, message, **further)


def syntax_problem(error: TreeError, remedy: str | None = None) -> TopicProblem:
    """Return the problem of a file or a line that cannot be parsed (T104).

    Args:
        error: The error of the parser.
        remedy: What the user can do about it; by default, that of the error.
    """
    if remedy is None and error.remedy is not None:
        remedy = error.remedy[:1].upper() + error.remedy[1:]
    return TopicProblem("T104", error.line, error.what, remedy=remedy)


Report = Callable[[TopicProblem], None]
"""Takes a problem that a reader found; may raise an error."""
Note = Callable[[str], None]
"""Takes a description of the format and the fields of a file, if they are not the usual ones."""


def refuse(path: str) -> Report:
    """Return a function that raises a ``FormatError`` for a problem that is not a warning."""

    def report(problem: TopicProblem) -> None:
        is_harmless = problem.severity == "warning" or problem.blocks_scoring is False
        if problem.refused or not is_harmless:
            raise FormatError(
                f"{problem.message} ({problem.code})",
                path=path,
                line=problem.line,
                column=problem.column,
                remedy=problem.remedy and problem.remedy[:1].lower() + problem.remedy[1:],
            )

    return report


@dataclass(slots=True)
class Records:
    """The records of a file.

    Attributes:
        found: The records.
        format_name: The name of the format in messages.
        is_plain: True for the formats whose topics are read without a note.
        is_markup: True for SGML and XML, whose names have another order of preference.
        is_typed: True for JSON Lines, in which an id and a text must be texts.
    """

    found: list[Record]
    format_name: str
    is_plain: bool = False
    is_markup: bool = False
    is_typed: bool = False


def read_id(node: Node, what: str, query_id: str | None, report: Report) -> str | None:
    """Read an id as it is written in the file; ``None`` without one.

    Args:
        node: The value.
        what: The name of the value in messages: "id" or "document id".
        query_id: The topic that it belongs to, if that is known.
        report: Takes the problems: null (T105), or a value that loaders do not read as text (T114).
    """
    if not isinstance(node, Scalar):
        message = f"the {what} is {describe(node)}, not text"
        report(TopicProblem.at(node, "T105", message, query_id=query_id))
        return None
    if node.data is None or not node.text:
        message = f"{what} is {'null' if node.data is None else 'empty'}"
        report(TopicProblem.at(node, "T105", message, query_id=query_id))
        return None
    if node.core is not None:
        message = f"{what} {visible(node.text)} is read as {node.core} by YAML 1.2"
        _report_quotes(node, "T114", message, query_id, report, is_same=True)
    elif node.meaning != "text" and node.text not in JSON_CONSTANTS:  # T104 reports constants
        message = f"{what} {visible(node.text)} is a number, not text"
        if node.value is not None:
            by = " by YAML 1.1" if node.meaning == "integer" else ""
            message = f"{what} {visible(node.text)} is read as {node.value}{by}"
        _report_quotes(node, "T114", message, query_id, report, is_same=_is_same(node))
    return node.text


def _is_same(node: Scalar) -> bool:
    """Return true if the text does not change if a loader converts the number back to text."""
    return node.meaning == "integer" and node.value is None


def _report_quotes(
    node: Scalar, code: str, message: str, query_id: str | None, report: Report, *, is_same: bool
) -> None:
    """Report a value that is not read as text without quotes; a warning if it ``is_same``."""
    problem = TopicProblem.at(
        node,
        code,
        message,
        query_id=query_id,
        severity="warning" if is_same else None,
        remedy=f'Quote it: "{visible(node.text)}"',
        refused=code == "T115",
    )
    report(problem)


def read_text(node: Node, topic: Topic, report: Report) -> None:
    """Read the text of a topic, and its place.

    Reports null (T105), values of other types (T115) and a text cut at '#' (T117).
    """
    topic.text_line = node.line
    query_id = topic.query_id
    if not isinstance(node, Scalar) or node.data is None:
        state = "text is null"
        if not isinstance(node, Scalar):
            state = f"the text is {describe(node)}, not text"
        report(TopicProblem.at(node, "T105", state, query_id=query_id))
        return
    topic.text = node.text
    if node.meaning != "text" and node.text not in JSON_CONSTANTS:
        shown = visible(node.text)
        read_as = node.value or f"the {node.meaning} {shown}"
        message = f"text {shown} is read as {read_as}"
        _report_quotes(node, "T115", message, query_id, report, is_same=_is_same(node))
    if node.cut is not None:
        what = f"text is cut at '#': {quoted(node.text)}"
        problem = TopicProblem.at(node, "T117", what, query_id=query_id)
        report(replace(problem, line=node.cut))


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
