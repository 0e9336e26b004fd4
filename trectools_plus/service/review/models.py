"""The requests and responses of the API; no response contains the name of a mode."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from trectools_plus.service.review.judgments import MAX_NAME_LENGTH, Grade
from trectools_plus.service.review.material import ReviewDocument

NONE_OF_THEM = "none"
"""The choice of none of the columns."""
MAX_ID_LENGTH = 4096
MAX_REASON_LENGTH = 500
MAX_COMMENT_LENGTH = 4000


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


class ChooseResult(Message):
    """Choose a result of a query; null removes the answer."""

    query: int = Field(ge=1)
    doc_id: str | None = Field(min_length=1, max_length=MAX_ID_LENGTH)


class CannotJudge(Message):
    """Declare that a query cannot be judged: a reason, which can be empty; null removes it."""

    query: int = Field(ge=1)
    reason: str | None = Field(max_length=MAX_REASON_LENGTH)


class Comment(Message):
    """Comment on a query; an empty text removes the comment."""

    query: int = Field(ge=1)
    text: str = Field(max_length=MAX_COMMENT_LENGTH)


class Undo(Message):
    """Undo the last judgment."""


class About(Message):
    """Description of the review; for ``guideline`` see :func:`read_guideline`."""

    dataset: str
    queries: int
    columns: int
    depth: int
    notes: list[str]
    adjudicates: bool
    guideline: list[list[Any]]


class Session(Message):
    """A session; ``session`` is null if a new name exists already, or a known one does not."""

    exists: bool
    name: str
    session: str | None
    judged: int


class QueryProgress(Message):
    """Progress of a query; adjudicators only decide what annotators differ on."""

    judged: int
    results: int
    chosen: bool
    cannot_judge: bool
    commented: bool
    complete: bool


class Progress(Message):
    """Progress of an annotator and the beginnings of the texts, by query."""

    name: str
    queries: list[QueryProgress]
    titles: list[str]


class State(Message):
    """Judgments of a query by an annotator."""

    query: int
    grades: dict[str, Grade]
    choice: str | None
    result: str | None
    cannot_judge: str | None
    comment: str
    progress: QueryProgress


class Review(Message):
    """Judgments of one annotator, without the name, for adjudicators."""

    label: str
    grades: dict[str, Grade]
    choice: str | None
    result: str | None
    cannot_judge: str | None
    comment: str


class Differences(Message):
    """The judgments of a query by annotators who differ, and what they differ on."""

    documents: list[str]
    result: bool
    choice: bool
    reviews: list[Review]


class Column(Message):
    """Results of a mode, under a neutral label."""

    label: str
    results: list[str]


class QueryView(Message):
    """A query with its columns; ``differences`` is null unless an adjudicator sees it."""

    query: int
    query_id: str
    text: str | None
    columns: list[Column]
    documents: dict[str, ReviewDocument]
    state: State
    differences: Differences | None


class Undone(Message):
    """The undone judgment and the new state; all fields are null if there was no judgment."""

    what: Literal["grade", "choice", "result", "cannot_judge", "comment"] | None
    doc_id: str | None
    state: State | None
