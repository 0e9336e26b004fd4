"""The JSON API of the review page."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from trectools_plus.errors import UsageError
from trectools_plus.judging.review import judgments
from trectools_plus.judging.review.judgments import (
    MAX_NAME_LENGTH,
    NONE_CHOSEN,
    Annotator,
    clean_name,
)
from trectools_plus.service.problems import ProblemError
from trectools_plus.service.review.controller import (
    NONE_OF_THEM,
    QueryProgress,
    QueryView,
    ReviewController,
    State,
)

TITLE_LENGTH = 160
"""Maximum number of characters of a query in the list of all queries."""

DocId = Annotated[str, Field(min_length=1, max_length=4096)]
Reason = Annotated[str, Field(max_length=500)]

router = APIRouter(prefix="/api")


class Message(BaseModel):
    """Base class of the bodies of requests: immutable, strictly validated."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Begin(Message):
    """Start or resume a session."""

    name: str = Field(min_length=1, max_length=4 * MAX_NAME_LENGTH)
    resume: bool = False


class Undo(Message):
    """Undo the last judgment."""


class QueryMessage(Message):
    """A judgment of a query."""

    query: int = Field(ge=1)


class GradeResult(QueryMessage):
    """Grade a result; a null ``grade`` removes the judgment."""

    doc_id: DocId
    grade: int | None = Field(ge=0, le=3)
    flagged: bool = False


class CannotJudgeResult(QueryMessage):
    """Declare that a document of a plan cannot be judged, with a reason, which can be empty."""

    doc_id: DocId
    reason: Reason


class Choose(QueryMessage):
    """Choose a column: its label, ``none``, or null for no answer."""

    choice: str | None = Field(max_length=8)


class ChooseResult(QueryMessage):
    """Choose a result of a query; null removes the answer."""

    doc_id: DocId | None


class CannotJudge(QueryMessage):
    """Declare that a query cannot be judged: a reason, which can be empty; null removes it."""

    reason: Reason | None


def _get_controller(request: Request) -> ReviewController:
    controller: ReviewController = request.app.state.controller
    return controller


Controller = Annotated[ReviewController, Depends(_get_controller)]


def _get_annotator(
    controller: Controller, x_review_session: Annotated[str, Header()] = ""
) -> Annotator:
    annotator = judgments.find_session_annotator(controller.store, x_review_session)
    if annotator is None:
        # The key is correct, so the status is not 401.
        raise ProblemError(403, "no-session", "the session is unknown", remedy="enter your name")
    return annotator


CurrentAnnotator = Annotated[Annotator, Depends(_get_annotator)]


@router.get("/about")
def about(controller: Controller) -> dict[str, Any]:
    """Describe the review.

    ``planned`` is the number of queries to judge if the results are those of a plan.
    """
    material = controller.material
    return {
        "dataset": material.dataset,
        "queries": len(controller.queries),
        "columns": len(material.modes),
        "depth": material.depth,
        "notes": material.notes,
        "planned": material.planned,
        "guideline": controller.guideline,
    }


@router.post("/session")
def begin(controller: Controller, body: Begin) -> dict[str, Any]:
    """Start a session.

    ``session`` is null if a new name exists already, or a known one does not.
    """
    annotator = judgments.find_annotator(controller.store, body.name)
    secret = judgments.begin_session(controller.store, body.name, resume=body.resume)
    judged = judgments.read_all_judgments(controller.store, annotator) if annotator else {}
    return {
        "exists": annotator is not None,
        "name": annotator.name if annotator else clean_name(body.name),
        "session": secret,
        "judged": len(judged),
    }


@router.get("/progress")
def progress(controller: Controller, annotator: CurrentAnnotator) -> dict[str, Any]:
    """Return the progress of an annotator and the beginnings of the texts, by query.

    In a plan, queries after the first one that is not complete are omitted.
    """
    queries: list[QueryProgress] = controller.offered(annotator)
    shown = controller.queries[: len(queries)]
    titles = [(query.text or query.query_id)[:TITLE_LENGTH] for query in shown]
    return {"name": annotator.name, "queries": queries, "titles": titles}


@router.get("/queries/{number}")
def show(
    controller: Controller, annotator: CurrentAnnotator, number: Annotated[int, Path(ge=1)]
) -> QueryView:
    """Return a query with its results and the judgments of the annotator."""
    return controller.show(annotator, number)


@router.post("/grades")
def grade(controller: Controller, annotator: CurrentAnnotator, body: GradeResult) -> State:
    """Record a grade.

    Raises:
        UsageError: If a flagged result does not have grade 0, or is of a plan.
    """
    query = controller.offer(annotator, body.query, body.doc_id)
    if body.flagged and (controller.is_plan or body.grade != 0):
        raise UsageError("only a result of a report, with grade 0, can be flagged as irrelevant")
    given = judgments.Grade(body.grade, body.flagged)
    judgments.record_grade(controller.store, annotator, query.query_id, body.doc_id, given)
    return controller.state(annotator, body.query)


@router.post("/missing")
def set_missing(
    controller: Controller, annotator: CurrentAnnotator, body: CannotJudgeResult
) -> State:
    """Record that a document of a plan cannot be judged; a grade replaces this.

    Raises:
        UsageError: If the results are those of a report.
    """
    query = controller.offer(annotator, body.query, body.doc_id)
    if not controller.is_plan:
        raise UsageError("only documents of a plan can be left without a grade")
    reason = clean_text(body.reason)
    judgments.record_missing(controller.store, annotator, query.query_id, body.doc_id, reason)
    return controller.state(annotator, body.query)


@router.post("/choices")
def choose(controller: Controller, annotator: CurrentAnnotator, body: Choose) -> State:
    """Record the chosen column.

    Raises:
        UsageError: If no column has the label, or the results are those of a plan.
    """
    query = controller.offer(annotator, body.query)
    modes = {NONE_OF_THEM: NONE_CHOSEN, **controller.labels(annotator, query)}
    if controller.is_plan or (body.choice is not None and body.choice not in modes):
        raise UsageError("no column has this label")
    mode = None if body.choice is None else modes[body.choice]
    judgments.record_answer(controller.store, annotator, query.query_id, "choice", mode)
    return controller.state(annotator, body.query)


@router.post("/results")
def choose_result(controller: Controller, annotator: CurrentAnnotator, body: ChooseResult) -> State:
    """Record the chosen result, which replaces "none of them".

    Raises:
        UsageError: If the results are those of a plan.
    """
    controller.offer(annotator, body.query, body.doc_id)
    if controller.is_plan:
        raise UsageError("documents of a plan are graded, not chosen")
    return _record(controller, annotator, body, "result", body.doc_id)


@router.post("/cannot-judge")
def set_cannot_judge(
    controller: Controller, annotator: CurrentAnnotator, body: CannotJudge
) -> State:
    """Record that a query cannot be judged."""
    reason = None if body.reason is None else clean_text(body.reason)
    return _record(controller, annotator, body, "cannot_judge", reason)


def _record(
    controller: ReviewController,
    annotator: Annotator,
    body: QueryMessage,
    kind: Literal["result", "cannot_judge"],
    value: str | None,
) -> State:
    query = controller.offer(annotator, body.query)
    judgments.record_answer(controller.store, annotator, query.query_id, kind, value)
    return controller.state(annotator, body.query)


@router.post("/undo")
def undo(controller: Controller, annotator: CurrentAnnotator, _: Undo) -> dict[str, Any]:
    """Undo the last judgment; all fields are null if there was none."""
    undone = judgments.undo_last(controller.store, annotator)
    if undone is None:
        return {"what": None, "doc_id": None, "state": None}
    query_id, doc_id, kind = undone
    number = [query.query_id for query in controller.queries].index(query_id) + 1
    what = kind or ("choice" if doc_id is None else "grade")
    return {"what": what, "doc_id": doc_id, "state": controller.state(annotator, number)}


def clean_text(text: str) -> str:
    """Return a text without outer blanks, and without control characters except line breaks."""
    lines = "\n".join(text.splitlines()).expandtabs(4)
    return "".join(c for c in lines if c == "\n" or unicodedata.category(c) != "Cc").strip()
