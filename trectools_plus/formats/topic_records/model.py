"""Records of a file of topics, the topics made of them, and the problems found on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from trectools_plus.errors import FormatError
from trectools_plus.formats.nodes.model import Scalar, TreeError


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
class Problem:
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


def syntax_problem(error: TreeError, remedy: str | None = None) -> Problem:
    """Return the problem of a file or a line that cannot be parsed (T104).

    Args:
        error: The error of the parser.
        remedy: What the user can do about it; by default, that of the error.
    """
    if remedy is None and error.remedy is not None:
        remedy = error.remedy[:1].upper() + error.remedy[1:]
    return Problem("T104", error.line, error.what, error.column, remedy=remedy)


Report = Callable[[Problem], None]
"""Takes a problem that a reader found; may raise an error."""
Note = Callable[[str], None]
"""Takes a description of the format and the fields of a file, if they are not the usual ones."""


def refuse(path: str) -> Report:
    """Return a function that raises a ``FormatError`` for a problem that is not a warning."""

    def report(problem: Problem) -> None:
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
