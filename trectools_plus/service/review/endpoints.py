"""The JSON API of the review page."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Path, Request

from trectools_plus.errors import UsageError
from trectools_plus.judging.review import judgments
from trectools_plus.judging.review.judgments import (
    MAX_NAME_LENGTH,
    NONE_CHOSEN,
    Grade,
    clean_name,
)
from trectools_plus.service.problems import ProblemError
from trectools_plus.service.review.controller import (
    NONE_OF_THEM,
    QueryView,
    ReviewController,
    Reviewer,
    State,
)

TITLE_LENGTH = 160
"""Maximum number of characters of a query in the list of all queries."""

Number = Annotated[int, Body(ge=1, strict=True)]
DocId = Annotated[str, Body(min_length=1, max_length=4096)]
DocIdOrNone = Annotated[str | None, Body(min_length=1, max_length=4096)]
Name = Annotated[str, Body(min_length=1, max_length=4 * MAX_NAME_LENGTH)]
Reason = Annotated[str, Body(max_length=500)]

router = APIRouter(prefix="/api")


def _get_controller(request: Request) -> ReviewController:
    controller: ReviewController = request.app.state.controller
    return controller


Controller = Annotated[ReviewController, Depends(_get_controller)]


def _get_reviewer(
    controller: Controller, x_review_session: Annotated[str, Header()] = ""
) -> Reviewer:
    annotator = judgments.find_session_annotator(controller.store, x_review_session)
    if annotator is None:
        # The key is correct, so the status is not 401.
        raise ProblemError(403, "no-session", "the session is unknown", "enter your name")
    return Reviewer(controller, annotator)


CurrentReviewer = Annotated[Reviewer, Depends(_get_reviewer)]


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
    }


@router.post("/session")
def begin(
    controller: Controller, name: Name, resume: Annotated[bool, Body(strict=True)] = False
) -> dict[str, Any]:
    """Start a session.

    ``session`` is null if a new name exists already, or a known one does not.
    """
    annotator = judgments.find_annotator(controller.store, name)
    secret = judgments.begin_session(controller.store, name, resume=resume)
    judged = judgments.read_all_judgments(controller.store, annotator) if annotator else {}
    return {
        "exists": annotator is not None,
        "name": annotator.name if annotator else clean_name(name),
        "session": secret,
        "judged": len(judged),
    }


@router.get("/progress")
def progress(reviewer: CurrentReviewer) -> dict[str, Any]:
    """Return the progress of an annotator and the beginnings of the texts, by query.

    In a plan, queries after the first one that is not complete are omitted.
    """
    queries = reviewer.offered()
    shown = reviewer.review.queries[: len(queries)]
    titles = [(query.text or query.query_id)[:TITLE_LENGTH] for query in shown]
    return {"name": reviewer.annotator.name, "queries": queries, "titles": titles}


@router.get("/queries/{number}")
def show(reviewer: CurrentReviewer, number: Annotated[int, Path(ge=1)]) -> QueryView:
    """Return a query with its results and the judgments of the annotator."""
    return reviewer.show(number)


@router.post("/grades")
def grade(
    reviewer: CurrentReviewer,
    query: Number,
    doc_id: DocId,
    grade: Annotated[int | None, Body(ge=0, le=3, strict=True)],
    flagged: Annotated[bool, Body(strict=True)] = False,
) -> State:
    """Record a grade; null removes the judgment.

    Raises:
        UsageError: If a flagged result does not have grade 0, or is of a plan.
    """
    if flagged and (reviewer.review.is_plan or grade != 0):
        raise UsageError("only a result of a report, with grade 0, can be flagged as irrelevant")
    reviewer.offer(query, doc_id)
    return _record(reviewer, query, judgments.record_grade, doc_id, Grade(grade, flagged))


@router.post("/missing")
def set_missing(reviewer: CurrentReviewer, query: Number, doc_id: DocId, reason: Reason) -> State:
    """Record that a document of a plan cannot be judged, with a reason, which can be empty.

    A grade replaces this.

    Raises:
        UsageError: If the results are those of a report.
    """
    if not reviewer.review.is_plan:
        raise UsageError("only documents of a plan can be left without a grade")
    reviewer.offer(query, doc_id)
    return _record(reviewer, query, judgments.record_missing, doc_id, clean_text(reason))


@router.post("/choices")
def choose(
    reviewer: CurrentReviewer, query: Number, choice: Annotated[str | None, Body(max_length=8)]
) -> State:
    """Record the chosen column: its label, ``none``, or null for no answer.

    Raises:
        UsageError: If no column has the label, or the results are those of a plan.
    """
    modes = {NONE_OF_THEM: NONE_CHOSEN, **reviewer.labels(reviewer.offer(query))}
    if choice not in (None, *modes) or reviewer.review.is_plan:
        raise UsageError("no column has this label")
    return _record(reviewer, query, judgments.record_answer, "choice", modes.get(choice or ""))


@router.post("/results")
def choose_result(reviewer: CurrentReviewer, query: Number, doc_id: DocIdOrNone) -> State:
    """Record the chosen result, which replaces "none of them"; null removes the answer.

    Raises:
        UsageError: If the results are those of a plan.
    """
    reviewer.offer(query, doc_id)
    if reviewer.review.is_plan:
        raise UsageError("documents of a plan are graded, not chosen")
    return _record(reviewer, query, judgments.record_answer, "result", doc_id)


@router.post("/cannot-judge")
def set_cannot_judge(
    reviewer: CurrentReviewer, query: Number, reason: Annotated[str | None, Body(max_length=500)]
) -> State:
    """Record that a query cannot be judged, with a reason, which can be empty; null removes it."""
    text = None if reason is None else clean_text(reason)
    return _record(reviewer, query, judgments.record_answer, "cannot_judge", text)


def _record(reviewer: Reviewer, number: int, function: Callable[..., None], *values: Any) -> State:
    """Record a judgment, and return all judgments of the query."""
    query = reviewer.offer(number)
    function(reviewer.review.store, reviewer.annotator, query.query_id, *values)
    return reviewer.state(number)


@router.post("/undo")
def undo(reviewer: CurrentReviewer) -> dict[str, Any]:
    """Undo the last judgment; all fields are null if there was none."""
    review = reviewer.review
    undone = judgments.undo_last(review.store, reviewer.annotator)
    if undone is None:
        return {"what": None, "doc_id": None, "state": None}
    query_id, doc_id, kind = undone
    number = [query.query_id for query in review.queries].index(query_id) + 1
    what = kind or ("choice" if doc_id is None else "grade")
    return {"what": what, "doc_id": doc_id, "state": reviewer.state(number)}


def clean_text(text: str) -> str:
    """Return a text without outer blanks, and without control characters except line breaks."""
    return "".join(c for c in text if c == "\n" or unicodedata.category(c) != "Cc").strip()
