"""The logic of the review page and its JSON API: blinded columns, their order, and progress.

No response contains the name of a mode. Of a plan, no response says which run found a document, or
at which rank; each person sees the documents of a query in a random order of their own.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Path, Request

from trectools_plus.errors import UsageError
from trectools_plus.judging import judgments
from trectools_plus.judging.judgments import (
    MAX_NAME_LENGTH,
    NONE_CHOSEN,
    Annotator,
    Grade,
    QueryJudgments,
    clean_name,
)
from trectools_plus.judging.plan import has_too_many_missing
from trectools_plus.judging.store import ReviewMaterial, ReviewQuery, ShownDocument, Store
from trectools_plus.service.guard import ProblemError

NONE_OF_THEM = "none"
"""The choice of none of the columns."""
LABELS = string.ascii_uppercase
"""The labels of columns, from left to right."""


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """Progress of a query.

    In a plan, ``judged`` includes documents that cannot be judged. If they are too many, and all
    others are judged, the query cannot be judged.
    """

    judged: int
    results: int
    chosen: bool
    cannot_judge: bool
    complete: bool


@dataclass(frozen=True, slots=True)
class State:
    """Judgments of a query by the annotator of the session, with labels instead of modes."""

    query: int
    progress: QueryProgress
    grades: dict[str, Grade]
    choice: str | None
    result: str | None
    cannot_judge: str | None
    missing: dict[str, str]


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """Results of a mode, under a neutral label."""

    label: str
    results: list[str]


@dataclass(frozen=True, slots=True)
class QueryView:
    """A query with its columns."""

    query: int
    query_id: str
    text: str | None
    columns: list[ResultColumn]
    documents: dict[str, ShownDocument]
    state: State


JUDGED_BY_ALL = 10
"""The number of queries of a plan that everyone judges, also if people share the others."""


class ReviewController:
    """The review that all annotators see.

    Args:
        material: The queries and results.
        store: The open review database.
        share: True if each annotator of a plan skips the queries that others have begun, after the
            first :data:`JUDGED_BY_ALL`.

    Attributes:
        is_plan: True if the results are the pool of a plan.
        queries: The queries in the order in which everyone sees them.
    """

    def __init__(self, material: ReviewMaterial, store: Store, *, share: bool = False) -> None:
        self.share = share
        self.material, self.store = material, store
        self.is_plan = material.planned is not None
        by_id = {query.query_id: query for query in material.queries}
        order = list(by_id) if self.is_plan else shuffled(by_id, store.study.seed, "query")
        self.queries = [by_id[name] for name in order]


class Reviewer:
    """One annotator of a review.

    Args:
        review: The review.
        annotator: The annotator.
    """

    def __init__(self, review: ReviewController, annotator: Annotator) -> None:
        self.review, self.annotator = review, annotator

    def show(self, number: int) -> QueryView:
        """Return a query with its columns in the order for this annotator.

        Raises:
            UsageError: If the number is out of range.
        """
        query = self.offer(number)
        labels = self.labels(query)
        columns = [ResultColumn(label, self._results(query, labels[label])) for label in labels]
        # List documents in the order of the columns: the report's order could reveal the modes.
        shown = dict.fromkeys(doc_id for column in columns for doc_id in column.results)
        known = self.review.material.documents
        documents = {doc_id: known[doc_id] for doc_id in shown if doc_id in known}
        state = self.state(number)
        return QueryView(number, query.query_id, query.text, columns, documents, state)

    def offer(self, number: int, doc_id: str | None = None) -> ReviewQuery:
        """Return a query; of a plan, only if all queries before it are complete.

        Raises:
            UsageError: If the number is out of range, or the query does not have the document.
        """
        queries = self.review.queries
        if not 1 <= number <= len(queries):
            raise UsageError(f"expected a query number from 1 to {len(queries)}")
        if self.review.is_plan and number > 1 and number > len(self.offered()):
            raise UsageError("the queries of a plan are judged in their order")
        query = queries[number - 1]
        if doc_id is not None and not any(doc_id in ids for ids in query.results.values()):
            raise UsageError("this document is not a result of the query")
        return query

    def offered(self) -> list[QueryProgress]:
        """Return the progress of all queries; of a plan, up to the first that is not complete."""
        review = self.review
        judged = judgments.read_all_judgments(review.store, self.annotator)
        taken: set[str] = set()
        if review.share:
            taken = judgments.read_queries_of_others(review.store, self.annotator) - judged.keys()
            taken -= {query.query_id for query in review.queries[:JUDGED_BY_ALL]}
        offered: list[QueryProgress] = []
        for query in review.queries:
            progress = self._progress(query, judged.get(query.query_id, QueryJudgments()))
            is_complete = progress.complete or query.query_id in taken
            offered.append(replace(progress, complete=is_complete))
            if review.is_plan and not is_complete:
                break
        return offered

    def labels(self, query: ReviewQuery) -> dict[str, str]:
        """Return the mode of each label."""
        order = self._shuffled(self.review.material.modes, "mode", query)
        return dict(zip(LABELS, order, strict=False))

    def state(self, number: int) -> State:
        """Return the judgments of a query by the annotator."""
        query = self.review.queries[number - 1]
        judged = judgments.read_query_judgments(self.review.store, self.annotator, query.query_id)
        labels = {mode: label for label, mode in self.labels(query).items()}
        labels[NONE_CHOSEN] = NONE_OF_THEM
        return State(
            query=number,
            progress=self._progress(query, judged),
            grades=judged.grades,
            choice=None if judged.choice is None else labels[judged.choice],
            result=judged.result,
            cannot_judge=judged.cannot_judge,
            missing=judged.missing,
        )

    def _results(self, query: ReviewQuery, mode: str) -> list[str]:
        """Return the results of a mode; those of a plan in random order."""
        results = query.results[mode]
        return self._shuffled(results, "document", query) if self.review.is_plan else list(results)

    def _shuffled(self, names: Sequence[str], what: str, query: ReviewQuery) -> list[str]:
        seed = self.review.store.study.seed
        return shuffled(names, seed, what, self.annotator.key, query.query_id)

    def _progress(self, query: ReviewQuery, judged: QueryJudgments) -> QueryProgress:
        is_plan = self.review.is_plan
        results = {doc_id for ids in query.results.values() for doc_id in ids}
        graded = len(results & (judged.grades.keys() | judged.missing.keys()))
        chosen = judged.has_chosen or is_plan
        cannot_judge = judged.cannot_judge is not None
        if is_plan and graded == len(results):
            missing = len(judged.missing) + query.lacking
            cannot_judge |= has_too_many_missing(missing, len(results) + query.lacking)
        complete = cannot_judge or (chosen and graded == len(results))
        return QueryProgress(graded, len(results), chosen, cannot_judge, complete)


def shuffled(names: Iterable[str], seed: int, *keys: str) -> list[str]:
    """Shuffle names; the order depends only on the arguments, not on the order of the names.

    Queries have the same order for every annotator: those who stop early have judged the same
    random sample. Modes and documents have one for each annotator and query.

    Args:
        names: Names, each once.
        seed: The seed.
        keys: What is shuffled, for example ``mode``, and for whom.
    """

    def sort_key(name: str) -> bytes:
        # Lengths are included, so that ("ab", "c") and ("a", "bc") differ.
        text = "".join(f"{len(part)}:{part}" for part in (str(seed), *keys, name))
        return sha256(text.encode("utf-8", "surrogatepass")).digest()

    return sorted(names, key=sort_key)


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
