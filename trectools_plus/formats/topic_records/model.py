"""Records and topics of a file, their ids and texts, and the problems found in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

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
        language: The language to choose if a topic has texts in several: ``en`` or ``eng``;
            ``None`` for English, or else the first.
    """

    id_field: str | None = None
    text_fields: tuple[str, ...] = ()
    language: str | None = None

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
        text_column: The character column at which its text starts, from 1.
    """

    line: int
    query_id: str | None = None
    text: str | None = None
    other_fields: dict[str, str] = field(default_factory=dict)
    text_line: int | None = None
    text_column: int | None = None


@dataclass(slots=True)
class Record:
    """One record of a file: a JSON object, an XML element, or a row.

    Attributes:
        line: The line on which it starts, from 1.
        fields: Its scalar fields by name, in the order of the file.
        query_id: Its id, if its place and not a field determines it: the key of a mapping, or the
            numbers of a topic and a turn.
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
        column: The character column, from 1.
        query_id: The topic.
        doc_id: The document.
        severity: If it differs from the severity of the rule: ``warning`` if the topics can be read
            as meant.
        remedy: What the user can do about it, if it differs from the remedy of the rule.
        fix: If it differs from the fix of the rule: ``no`` if no program can fix it.
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
    fix: Literal["safe", "ask", "no"] | None = None
    blocks_scoring: bool | None = None
    refused: bool = False


def syntax_problem(error: TreeError, remedy: str | None = None) -> TopicProblem:
    """Return the problem of a file or a line that cannot be parsed (T104).

    Args:
        error: The error of the parser.
        remedy: What the user can do about it; by default, that of the error.
    """
    if remedy is None and error.remedy is not None:
        remedy = error.remedy[:1].upper() + error.remedy[1:]
    return TopicProblem("T104", error.line, error.what, error.column, remedy=remedy)


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
        place: How the ids are made, if not from a field: "the keys".
        noun: The name of a record in messages.
        language: The language that was chosen among several.
        languages: All languages found.
        n_nested: The number of records inside others, which are not read.
    """

    found: list[Record]
    format_name: str
    is_plain: bool = False
    place: str = ""
    noun: str = "records"
    language: str | None = None
    languages: tuple[str, ...] = ()
    n_nested: int = 0


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
        report(TopicProblem("T105", node.line, message, node.column, query_id))
        return None
    if node.meaning == "null" or not node.text:
        state = "null" if node.meaning == "null" else "empty"
        report(TopicProblem("T105", node.line, f"{what} is {state}", node.column, query_id))
        return None
    problem = _id_problem(node, what, query_id)
    if problem is not None:
        report(problem)
    return node.text


def _id_problem(node: Scalar, what: str, query_id: str | None) -> TopicProblem | None:
    """Return the problem of an id that a loader does not read as text (T114)."""
    shown = visible(node.text)
    is_integer = node.meaning == "integer"
    # The id does not change if a loader converts the number back to text.
    is_same = is_integer and node.value is None
    message = f"{what} {shown} is a number, not text"
    if node.meaning == "text":
        if node.core is None:
            return None
        is_same = True
        message = f"{what} {shown} is read as {node.core} by YAML 1.2"
    elif node.text in JSON_CONSTANTS:
        return None  # T104 reports it
    elif node.value is not None:
        by = " by YAML 1.1" if is_integer else ""
        message = f"{what} {shown} is read as {node.value}{by}"
    return TopicProblem(
        "T114",
        node.line,
        message,
        node.column,
        query_id,
        severity="warning" if is_same else None,
        remedy=f'Quote it: "{shown}"',
    )


def read_text(node: Node, topic: Topic, report: Report) -> None:
    """Read the text of a topic, and its place.

    Reports null (T105), values of other types (T115) and a text cut at '#' (T117).
    """
    topic.text_line, topic.text_column = node.line, node.column
    if not isinstance(node, Scalar) or node.meaning == "null":
        state = "text is null"
        if not isinstance(node, Scalar):
            state = f"the text is {describe(node)}, not text"
        report(TopicProblem("T105", node.line, state, node.column, topic.query_id))
        return
    topic.text = node.text
    if node.meaning != "text" and node.text not in JSON_CONSTANTS:
        shown = visible(node.text)
        is_same = node.meaning == "integer" and node.value is None
        read_as = node.value or f"the {node.meaning} {shown}"
        if node.meaning != "boolean":
            read_as = f"read as {read_as}"
        problem = TopicProblem(
            "T115",
            node.line,
            f"text {shown} is {read_as}",
            node.column,
            topic.query_id,
            severity="warning" if is_same else None,
            remedy=f'Quote it: "{shown}"',
            refused=True,
        )
        report(problem)
    if node.cut is not None:
        what = f"text is cut at '#': {quoted(node.text)}"
        problem = TopicProblem("T117", node.line, what, node.column, topic.query_id)
        if node.cut != node.line:  # it begins and ends on different lines
            problem = replace(problem, line=node.cut, column=None, fix="no")
        report(problem)


def report_empty_text(topic: Topic, report: Report) -> None:
    """Report a text without visible characters (T121)."""
    if topic.text is None or topic.text.strip():
        return
    what = "no text" if topic.query_id is None else f"topic {visible(topic.query_id)} has no text"
    problem = TopicProblem(
        "T121",
        topic.text_line or topic.line,
        what,
        topic.text_column,
        topic.query_id,
        remedy="Write a text, or remove the topic",
    )
    report(problem)


def report_repeated_keys(tree: Tree, report: Report) -> None:
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
        report(TopicProblem("T116", key.line, message, key.column, remedy="Keep one of them"))


def report_constants(tree: Tree, report: Report) -> None:
    """Report NaN and infinity in a JSON document (T104)."""
    for node in tree.constants:
        what, remedy = f"{node.text} is not valid JSON", "Write a number or null"
        report(TopicProblem("T104", node.line, what, node.column, remedy=remedy))
