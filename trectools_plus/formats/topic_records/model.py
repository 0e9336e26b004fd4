"""Records of a file of topics, the topics made of them, and the problems found on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from trectools_plus.errors import FormatError
from trectools_plus.formats.nodes.model import Scalar


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
    """One topic of a file.

    Attributes:
        line: The line on which it starts, from 1.
        query_id: Its id.
        text: Its text.
        other_fields: Its other fields by name.
        text_line: The line on which its text starts; ``None`` if unknown.
    """

    line: int
    query_id: str
    text: str
    other_fields: dict[str, str] = field(default_factory=dict)
    text_line: int | None = None


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
    """A problem in a file of topics.

    Attributes:
        code: The rule of ``topics validate`` that reports it.
        line: The line, from 1.
        what: The problem.
        column: The character column, from 1.
        query_id: The topic.
        remedy: What the user can do about it.
        is_warning: True if the topics can be read as meant.
    """

    code: str
    line: int
    what: str
    column: int | None = None
    query_id: str | None = None
    remedy: str | None = None
    is_warning: bool = False


Report = Callable[[TopicProblem], None]
"""Takes a problem; may raise an error."""


def refuse(path: str) -> Report:
    """Return a function that raises a ``FormatError`` for a problem that is not a warning."""

    def report(problem: TopicProblem) -> None:
        if not problem.is_warning:
            raise FormatError(
                f"{problem.what} ({problem.code})",
                path=path,
                line=problem.line,
                column=problem.column,
                remedy=problem.remedy,
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
