"""The logic of the review page: blinded columns, order, judgments, and the messages of its API.

No response contains the name of a mode. Of a plan, no response says which run found a document, or
at which rank; each person sees the documents of a query in a random order of their own.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.judging.plan import has_too_many_missing
from trectools_plus.judging.review import judgments
from trectools_plus.judging.review.judgments import (
    MAX_NAME_LENGTH,
    NONE_CHOSEN,
    Annotator,
    AnnotatorDisagreement,
    Grade,
    QueryJudgments,
    clean_name,
    find_disagreements,
    is_decided,
)
from trectools_plus.judging.review.shown import ReviewMaterial, ReviewQuery, ShownDocument
from trectools_plus.judging.review.store import Store
from trectools_plus.service.review.material import Element

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


class CannotJudgeResult(Message):
    """Declare that a document of a plan cannot be judged, with a reason, which can be empty."""

    query: int = Field(ge=1)
    doc_id: str = Field(min_length=1, max_length=MAX_ID_LENGTH)
    reason: str = Field(max_length=MAX_REASON_LENGTH)


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
    """Description of the review; for ``guideline`` see :func:`read_guideline`.

    ``planned`` is the number of queries to judge if the results are those of a plan.
    """

    dataset: str
    queries: int
    columns: int
    depth: int
    notes: list[str]
    planned: int | None
    adjudicates: bool
    guideline: list[list[Any]]


class Session(Message):
    """A session; ``session`` is null if a new name exists already, or a known one does not."""

    exists: bool
    name: str
    session: str | None
    judged: int


class QueryProgress(Message):
    """Progress of a query; adjudicators only decide what annotators differ on.

    In a plan, ``judged`` includes documents that cannot be judged. If they are too many, and all
    others are judged, the query cannot be judged.
    """

    judged: int
    results: int
    chosen: bool
    cannot_judge: bool
    commented: bool
    complete: bool


class AnnotatorProgress(Message):
    """Progress of an annotator and the beginnings of the texts, by query.

    In a plan, queries after the first one that is not complete are omitted.
    """

    name: str
    queries: list[QueryProgress]
    titles: list[str]


class BlindedJudgments(Message):
    """Judgments of a query by an annotator."""

    grades: dict[str, Grade]
    choice: str | None
    result: str | None
    cannot_judge: str | None
    comment: str
    missing: dict[str, str]


class State(BlindedJudgments):
    """Judgments of a query by the annotator of the session."""

    query: int
    progress: QueryProgress


class Review(BlindedJudgments):
    """Judgments of one annotator, without the name, for adjudicators."""

    label: str


class AnnotatorDifferences(Message):
    """The judgments of a query by annotators who differ, and what they differ on."""

    documents: list[str]
    result: bool
    choice: bool
    reviews: list[Review]


class ResultColumn(Message):
    """Results of a mode, under a neutral label."""

    label: str
    results: list[str]


class QueryView(Message):
    """A query with its columns; ``differences`` is null unless an adjudicator sees it."""

    query: int
    query_id: str
    text: str | None
    columns: list[ResultColumn]
    documents: dict[str, ShownDocument]
    state: State
    differences: AnnotatorDifferences | None


class Undone(Message):
    """The undone judgment and the new state; all fields are null if there was no judgment."""

    what: Literal["grade", "choice", "result", "cannot_judge", "comment"] | None
    doc_id: str | None
    state: State | None


JUDGED_BY_ALL = 10
"""The number of queries of a plan that everyone judges, also if people share the others."""
TITLE_LENGTH = 160
"""Maximum number of characters of a query in the list of all queries."""


class ReviewController:
    """Show queries to annotators, and record their judgments.

    Args:
        material: The queries and results.
        store: The open review database.
        guideline: The elements of the guideline; see
            :func:`~trectools_plus.service.review.material.read_guideline`.
        adjudicate: True to show only the queries on which annotators differ, and to record
            decisions. The queries are those at the time of the call.
        share: True if each annotator of a plan skips the queries that others have begun, after the
            first :data:`JUDGED_BY_ALL`.

    Raises:
        CheckFailedError: If there are no disagreements to adjudicate.
    """

    def __init__(
        self,
        material: ReviewMaterial,
        store: Store,
        *,
        guideline: Sequence[Element] = (),
        adjudicate: bool = False,
        share: bool = False,
    ) -> None:
        self._shares = share
        self.material = material
        self.store = store
        self.adjudicates = adjudicate
        self._guideline = list(guideline)
        queries = {query.query_id: query for query in material.queries}
        self._disagreements: dict[str, AnnotatorDisagreement] = {}
        if adjudicate:
            self._disagreements = find_disagreements(store)
            if not self._disagreements:
                raise CheckFailedError("there is nothing to adjudicate: no annotators differ")
            queries = {name: queries[name] for name in queries if name in self._disagreements}
        self._is_plan = material.planned is not None
        order = list(queries)
        if not self._is_plan:
            order = order_queries(order, store.study.seed)
        self._queries = [queries[name] for name in order]
        self._numbers = {query.query_id: number for number, query in enumerate(self._queries, 1)}

    def about(self) -> About:
        """Return a description of the review."""
        return About(
            dataset=self.material.dataset,
            queries=len(self._queries),
            columns=len(self.material.modes),
            depth=self.material.depth,
            notes=list(self.material.notes),
            planned=self.material.planned,
            adjudicates=self.adjudicates,
            guideline=self._guideline,
        )

    def begin(self, name: str, resume: bool) -> Session:
        """Start a session; see :func:`~trectools_plus.judging.review.judgments.begin_session`.

        Raises:
            UsageError: If the name is invalid.
        """
        found = judgments.find_annotator(self.store, name)
        secret = None
        if (found is not None) == resume:
            secret = judgments.begin_session(
                self.store, name, resume=resume, adjudicates=self.adjudicates
            )
        judged = 0
        if found is not None:
            judged = len(judgments.read_all_judgments(self.store, found))
        return Session(
            exists=found is not None,
            name=clean_name(name) if found is None else found.name,
            session=secret,
            judged=judged,
        )

    def progress(self, annotator: Annotator) -> AnnotatorProgress:
        """Return the progress of an annotator."""
        offered = self._offered(annotator)
        return AnnotatorProgress(
            name=annotator.name,
            queries=offered,
            titles=[
                (query.text or query.query_id)[:TITLE_LENGTH]
                for query in self._queries[: len(offered)]
            ],
        )

    def show(self, annotator: Annotator, number: int) -> QueryView:
        """Return a query with its columns in the order for this annotator.

        Raises:
            UsageError: If the number is out of range.
        """
        query = self._offer(annotator, number)
        columns = [
            ResultColumn(label=label, results=self._results(annotator, query, mode))
            for label, mode in self._labels(annotator, query).items()
        ]
        # List documents in the order of the columns: the report's order could reveal the modes.
        shown = dict.fromkeys(doc_id for column in columns for doc_id in column.results)
        known = self.material.documents
        return QueryView(
            query=number,
            query_id=query.query_id,
            text=query.text,
            columns=columns,
            documents={doc_id: known[doc_id] for doc_id in shown if doc_id in known},
            state=self._state(annotator, number),
            differences=self._differences(annotator, query) if self.adjudicates else None,
        )

    def grade(
        self, annotator: Annotator, number: int, doc_id: str, grade: int | None, flagged: bool
    ) -> State:
        """Record a grade.

        Raises:
            UsageError: If the query has no such result, the number is out of range, a flagged
                result does not have grade 0, or annotators do not differ on the result that an
                adjudicator grades.
        """
        query = self._offer(annotator, number)
        self._check_document(query, doc_id)
        if flagged and self._is_plan:
            raise UsageError("documents of a plan are graded, not flagged")
        if flagged and grade != 0:
            raise UsageError("a result that is flagged as irrelevant must have grade 0")
        judged = Grade(grade, flagged)
        judgments.record_grade(self.store, annotator, query.query_id, doc_id, judged)
        return self._state(annotator, number)

    def set_missing(self, annotator: Annotator, number: int, doc_id: str, reason: str) -> State:
        """Record that a document of a plan cannot be judged; a grade replaces this.

        Raises:
            UsageError: If the results are those of a report, the query has no such document, the
                number is out of range, or annotators do not differ on what an adjudicator decides.
        """
        query = self._offer(annotator, number)
        self._check_document(query, doc_id)
        if not self._is_plan:
            raise UsageError("only documents of a plan can be left without a grade")
        judgments.record_missing(self.store, annotator, query.query_id, doc_id, clean_text(reason))
        return self._state(annotator, number)

    def choose(self, annotator: Annotator, number: int, choice: str | None) -> State:
        """Record the chosen column.

        Raises:
            UsageError: If the number is out of range, or no column has the label.
        """
        query = self._offer(annotator, number)
        choices = {**self._labels(annotator, query), NONE_OF_THEM: NONE_CHOSEN}
        if choice is not None and choice not in choices:
            raise UsageError("no column has this label")
        mode = None if choice is None else choices[choice]
        self._check_choice(query)
        judgments.record_choice(self.store, annotator, query.query_id, mode)
        return self._state(annotator, number)

    def choose_result(self, annotator: Annotator, number: int, doc_id: str | None) -> State:
        """Record the chosen result, which replaces "none of them".

        Raises:
            UsageError: If the number is out of range, the query has no such result, or annotators
                do not differ on what an adjudicator chooses.
        """
        query = self._offer(annotator, number)
        if doc_id is not None:
            _check_result(query, doc_id)
        self._check_choice(query)
        judgments.record_answer(self.store, annotator, query.query_id, "result", doc_id)
        return self._state(annotator, number)

    def set_cannot_judge(self, annotator: Annotator, number: int, reason: str | None) -> State:
        """Record that a query cannot be judged; ``None`` removes this.

        Raises:
            UsageError: If the number is out of range.
        """
        query = self._offer(annotator, number)
        value = None if reason is None else clean_text(reason)
        judgments.record_answer(self.store, annotator, query.query_id, "cannot_judge", value)
        return self._state(annotator, number)

    def comment(self, annotator: Annotator, number: int, text: str) -> State:
        """Record a comment on a query; an empty text removes it.

        Raises:
            UsageError: If the number is out of range.
        """
        query = self._offer(annotator, number)
        value = clean_text(text) or None
        judgments.record_answer(self.store, annotator, query.query_id, "comment", value)
        return self._state(annotator, number)

    def undo(self, annotator: Annotator) -> Undone:
        """Undo the last judgment of an annotator."""
        undone = judgments.undo_last(self.store, annotator)
        if undone is None:
            return Undone(what=None, doc_id=None, state=None)
        query_id, doc_id, kind = undone
        # The queries of adjudicators can have changed since the judgment.
        number = self._numbers.get(query_id)
        return Undone.model_validate(
            {
                "what": kind or ("choice" if doc_id is None else "grade"),
                "doc_id": doc_id,
                "state": None if number is None else self._state(annotator, number),
            }
        )

    def _query(self, number: int) -> ReviewQuery:
        if not 1 <= number <= len(self._queries):
            raise UsageError(f"expected a query number from 1 to {len(self._queries)}")
        return self._queries[number - 1]

    def _offer(self, annotator: Annotator, number: int) -> ReviewQuery:
        """Return a query; of a plan, only if all queries before it are complete."""
        query = self._query(number)
        if self._is_plan and number > 1 and number > len(self._offered(annotator)):
            raise UsageError("the queries of a plan are judged in their order")
        return query

    def _offered(self, annotator: Annotator) -> list[QueryProgress]:
        """Return the progress of all queries; of a plan, up to the first that is not complete."""
        judged = judgments.read_all_judgments(self.store, annotator)
        taken: set[str] = set()
        if self._shares:
            taken = judgments.read_queries_of_others(self.store, annotator) - judged.keys()
            taken -= {query.query_id for query in self._queries[:JUDGED_BY_ALL]}
        offered: list[QueryProgress] = []
        for query in self._queries:
            progress = self._progress(query, judged.get(query.query_id, QueryJudgments()))
            if query.query_id in taken:
                progress = progress.model_copy(update={"complete": True})
            offered.append(progress)
            if self._is_plan and not self.adjudicates and not offered[-1].complete:
                break
        return offered

    def _results(self, annotator: Annotator, query: ReviewQuery, mode: str) -> list[str]:
        """Return the results of a mode; those of a plan in random order."""
        results = list(query.results[mode])
        if self._is_plan:
            return order_documents(results, self.store.study.seed, annotator.key, query.query_id)
        return results

    def _labels(self, annotator: Annotator, query: ReviewQuery) -> dict[str, str]:
        """Return the mode of each label."""
        seed, modes = self.store.study.seed, self.material.modes
        order = order_modes(modes, seed, annotator.key, query.query_id)
        return dict(zip(LABELS, order, strict=False))

    def _state(self, annotator: Annotator, number: int) -> State:
        query = self._query(number)
        judged = judgments.read_query_judgments(self.store, annotator, query.query_id)
        return State(
            query=number,
            progress=self._progress(query, judged),
            **self._blinded(annotator, query, judged),
        )

    def _blinded(
        self, annotator: Annotator, query: ReviewQuery, judged: QueryJudgments
    ) -> dict[str, Any]:
        """Return judgments with the label that the chosen mode has for an annotator."""
        labels = {mode: label for label, mode in self._labels(annotator, query).items()}
        labels[NONE_CHOSEN] = NONE_OF_THEM
        return {
            "grades": judged.grades,
            "choice": None if judged.choice is None else labels[judged.choice],
            "result": judged.result,
            "cannot_judge": judged.cannot_judge,
            "comment": judged.comment or "",
            "missing": judged.missing,
        }

    def _differences(self, annotator: Annotator, query: ReviewQuery) -> AnnotatorDifferences:
        """Return what annotators differ on, in an order that does not identify them."""
        found = self._disagreements[query.query_id]
        reviewers = sorted(
            judgments.list_annotators(self.store),
            key=lambda one: _sort_key(self.store.study.seed, "reviewer", query.query_id, one.key),
        )
        judged = [
            judgments.read_query_judgments(self.store, one, query.query_id) for one in reviewers
        ]
        reviews = [
            Review(label=f"Reviewer {place}", **self._blinded(annotator, query, one))
            for place, one in enumerate((one for one in judged if one != QueryJudgments()), 1)
        ]
        return AnnotatorDifferences(
            documents=list(found.documents),
            result=found.result,
            choice=found.choice,
            reviews=reviews,
        )

    def _check_document(self, query: ReviewQuery, doc_id: str) -> None:
        _check_result(query, doc_id)
        if self.adjudicates and doc_id not in self._disagreements[query.query_id].documents:
            raise UsageError("the annotators do not differ on this result")

    def _check_choice(self, query: ReviewQuery) -> None:
        if self._is_plan:
            raise UsageError("documents of a plan are graded, not chosen")
        if self.adjudicates:
            found = self._disagreements[query.query_id]
            if not (found.result or found.choice):
                raise UsageError("the annotators do not differ on the choice for this query")

    def _progress(self, query: ReviewQuery, judged: QueryJudgments) -> QueryProgress:
        results = {doc_id for found in query.results.values() for doc_id in found}
        chosen = judged.has_chosen or self._is_plan
        disagreement = self._disagreements.get(query.query_id)
        if disagreement is not None:
            results &= set(disagreement.documents)
            rest = AnnotatorDisagreement((), disagreement.result, disagreement.choice)
            chosen = is_decided(rest, judged)
        graded = len(results & (judged.grades.keys() | judged.missing.keys()))
        cannot_judge = judged.cannot_judge is not None
        if self._is_plan and graded == len(results):
            missing = len(judged.missing) + query.lacking
            cannot_judge |= has_too_many_missing(missing, len(results) + query.lacking)
        return QueryProgress(
            judged=graded,
            results=len(results),
            chosen=chosen,
            cannot_judge=cannot_judge,
            commented=judged.comment is not None,
            complete=cannot_judge or (chosen and graded == len(results)),
        )


def _check_result(query: ReviewQuery, doc_id: str) -> None:
    if not any(doc_id in found for found in query.results.values()):
        raise UsageError("this document is not a result of the query")


def clean_text(text: str) -> str:
    """Return a text without outer blanks, and without control characters except line breaks."""
    lines = ("\n".join(text.splitlines())).expandtabs(4)
    kept = (one for one in lines if one == "\n" or unicodedata.category(one) != "Cc")
    return "".join(kept).strip()


LABELS = string.ascii_uppercase
"""The labels of columns, from left to right."""


def order_queries(query_ids: Sequence[str], seed: int) -> list[str]:
    """Shuffle the queries, with the same result for every annotator.

    So annotators who stop early have judged the same random sample.

    Args:
        query_ids: All queries, each once.
        seed: The seed of the shuffle.
    """
    return sorted(query_ids, key=lambda query_id: _sort_key(seed, "query", query_id))


def order_modes(modes: Sequence[str], seed: int, annotator: str, query_id: str) -> list[str]:
    """Shuffle the columns of a query for an annotator.

    Args:
        modes: The modes.
        seed: The seed of the shuffle, together with annotator and query.
        annotator: The key of the annotator; see
            :func:`~trectools_plus.judging.review.judgments.key_of`.
        query_id: The query.

    Returns:
        The modes from left to right: labels A, B, …
    """
    return sorted(modes, key=lambda mode: _sort_key(seed, "mode", annotator, query_id, mode))


def order_documents(doc_ids: Sequence[str], seed: int, annotator: str, query_id: str) -> list[str]:
    """Shuffle the pooled documents of a query for an annotator; see :func:`order_modes`.

    The order depends only on the arguments: not on runs and ranks.
    """
    return sorted(
        doc_ids, key=lambda doc_id: _sort_key(seed, "document", annotator, query_id, doc_id)
    )


def _sort_key(seed: int, *names: str) -> bytes:
    parts = [str(seed), *names]
    # Lengths are included, so that ("ab", "c") and ("a", "bc") differ.
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
