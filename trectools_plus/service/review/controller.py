"""The logic of the review page: blinded columns, their order, and progress.

No response contains the name of a mode. Of a plan, no response says which run found a document, or
at which rank; each person sees the documents of a query in a random order of their own.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from trectools_plus.errors import UsageError
from trectools_plus.judging.plan import has_too_many_missing
from trectools_plus.judging.review import judgments
from trectools_plus.judging.review.judgments import (
    NONE_CHOSEN,
    Annotator,
    Grade,
    QueryJudgments,
)
from trectools_plus.judging.review.shown import ReviewMaterial, ReviewQuery, ShownDocument
from trectools_plus.judging.review.store import Store

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
