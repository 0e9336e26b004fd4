"""The requests and responses of the API; no response contains the name of a mode."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from trectools_plus.service.review.judgments import MAX_NAME_LENGTH, Grade
from trectools_plus.service.review.material import Document

NONE_OF_THEM = "none"
"""The choice of none of the columns."""
MAX_ID_LENGTH = 4096


class Message(BaseModel):
    """Base class: immutable, strictly validated."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Begin(Message):
    """Start or resume a session."""

    name: str = Field(min_length=1, max_length=4 * MAX_NAME_LENGTH)
    resume: bool = False


class GradeResult(Message):
    """Grade a result; a null ``grade`` removes the judgment."""

    query: int = Field(ge=1)
    doc_id: str = Field(min_length=1, max_length=MAX_ID_LENGTH)
    grade: int | None = Field(ge=0, le=3)
    flagged: bool = False


class Choose(Message):
    """Choose a column: its label, ``none``, or null for no answer."""

    query: int = Field(ge=1)
    choice: str | None = Field(max_length=8)


class Undo(Message):
    """Undo the last judgment."""


class About(Message):
    """Description of the review."""

    dataset: str
    queries: int
    columns: int
    depth: int
    notes: list[str]


class Session(Message):
    """A session; ``session`` is null if a new name exists already, or a known one does not."""

    exists: bool
    name: str
    session: str | None
    judged: int


class QueryProgress(Message):
    """Progress of a query."""

    judged: int
    results: int
    chosen: bool
    complete: bool


class Progress(Message):
    """Progress of an annotator, by query."""

    name: str
    queries: list[QueryProgress]


class State(Message):
    """Judgments of a query by an annotator."""

    query: int
    grades: dict[str, Grade]
    choice: str | None
    progress: QueryProgress


class Column(Message):
    """Results of a mode, under a neutral label."""

    label: str
    results: list[str]


class QueryView(Message):
    """A query with its columns."""

    query: int
    query_id: str
    text: str | None
    columns: list[Column]
    documents: dict[str, Document]
    state: State


class Undone(Message):
    """The undone judgment and the new state; all fields are null if there was no judgment."""

    what: Literal["grade", "choice"] | None
    doc_id: str | None
    state: State | None
