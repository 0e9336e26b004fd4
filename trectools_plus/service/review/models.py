"""What goes over HTTP: requests and answers. No answer names a mode."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from trectools_plus.service.review.judgments import LONGEST_NAME

NONE_OF_THEM = "none"
"""The choice of someone who would choose none of the columns."""
LONGEST_ID = 4096


class Message(BaseModel):
    """Base of all: a value, exactly as it was sent."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Begin(Message):
    """Someone begins, or goes on."""

    name: str = Field(min_length=1, max_length=4 * LONGEST_NAME)
    resume: bool = False


class GradeResult(Message):
    """A grade for a result; without ``grade`` it is not judged any more."""

    query: int = Field(ge=1)
    doc_id: str = Field(min_length=1, max_length=LONGEST_ID)
    grade: int | None = Field(ge=0, le=3)
    flagged: bool = False


class Choose(Message):
    """The column that one would choose: its label, ``none``, or null for no answer."""

    query: int = Field(ge=1)
    choice: str | None = Field(max_length=8)


class Undo(Message):
    """Take back the last judgment."""


class About(Message):
    """What is to be judged."""

    dataset: str
    queries: int
    columns: int
    depth: int
    notes: list[str]


class Session(Message):
    """Whether someone may begin: ``exists`` and no ``session`` if the name is taken."""

    exists: bool
    name: str
    session: str | None
    judged: int


class QueryProgress(Message):
    """How far a query is."""

    judged: int
    results: int
    chosen: bool
    complete: bool


class Progress(Message):
    """How far someone is, query by query."""

    name: str
    queries: list[QueryProgress]


class ShownGrade(Message):
    """A judgment of a result."""

    grade: int
    flagged: bool


class State(Message):
    """What someone has judged of a query."""

    query: int
    grades: dict[str, ShownGrade]
    choice: str | None
    progress: QueryProgress


class Column(Message):
    """A mode's results, under a label that says nothing of it."""

    label: str
    results: list[str]


class ShownDocument(Message):
    """A document's words."""

    title: str
    text: str


class QueryView(Message):
    """A query with its columns."""

    query: int
    query_id: str
    text: str | None
    columns: list[Column]
    documents: dict[str, ShownDocument]
    state: State


class Undone(Message):
    """What was taken back: where, and how it is now; null if there was nothing."""

    what: Literal["grade", "choice"] | None
    doc_id: str | None
    state: State | None
