"""The logic of the review page, independent of HTTP: blinded columns, order, and judgments."""

from __future__ import annotations

import string
from collections.abc import Sequence
from hashlib import sha256

from trectools_plus.errors import UsageError
from trectools_plus.service.review import judgments, models
from trectools_plus.service.review.judgments import (
    NONE_CHOSEN,
    Annotator,
    Grade,
    QueryJudgments,
    clean_name,
)
from trectools_plus.service.review.material import ReviewMaterial, ReviewQuery
from trectools_plus.service.review.store import Store


class ReviewController:
    """Show queries to annotators, and record their judgments.

    Args:
        material: The queries and results.
        store: The open review database.
    """

    def __init__(self, material: ReviewMaterial, store: Store) -> None:
        self.material = material
        self.store = store
        queries = {query.query_id: query for query in material.queries}
        self._queries = [queries[name] for name in order_queries(list(queries), store.study.seed)]
        self._numbers = {query.query_id: number for number, query in enumerate(self._queries, 1)}

    def about(self) -> models.About:
        """Return a description of the review."""
        return models.About(
            dataset=self.material.dataset,
            queries=len(self._queries),
            columns=len(self.material.modes),
            depth=self.material.depth,
            notes=list(self.material.notes),
        )

    def begin(self, name: str, resume: bool) -> models.Session:
        """Start a session; see :func:`~trectools_plus.service.review.judgments.begin_session`.

        Raises:
            UsageError: If the name is invalid.
        """
        found = judgments.find_annotator(self.store, name)
        secret = None
        if (found is not None) == resume:
            secret = judgments.begin_session(self.store, name, resume=resume)
        judged = 0
        if found is not None:
            all_judged = judgments.read_all_judgments(self.store, found).values()
            judged = sum(bool(query.grades) or query.choice is not None for query in all_judged)
        return models.Session(
            exists=found is not None,
            name=clean_name(name) if found is None else found.name,
            session=secret,
            judged=judged,
        )

    def progress(self, annotator: Annotator) -> models.Progress:
        """Return the progress of an annotator."""
        judged = judgments.read_all_judgments(self.store, annotator)
        return models.Progress(
            name=annotator.name,
            queries=[
                _progress(query, judged.get(query.query_id, QueryJudgments()))
                for query in self._queries
            ],
        )

    def show(self, annotator: Annotator, number: int) -> models.QueryView:
        """Return a query with its columns in the order for this annotator.

        Raises:
            UsageError: If the number is out of range.
        """
        query = self._query(number)
        columns = [
            models.Column(label=label, results=list(query.results[mode]))
            for label, mode in self._labels(annotator, query).items()
        ]
        # List documents in the order of the columns: the report's order could reveal the modes.
        shown = dict.fromkeys(doc_id for column in columns for doc_id in column.results)
        known = self.material.documents
        return models.QueryView(
            query=number,
            query_id=query.query_id,
            text=query.text,
            columns=columns,
            documents={doc_id: known[doc_id] for doc_id in shown if doc_id in known},
            state=self._state(annotator, number),
        )

    def grade(
        self, annotator: Annotator, number: int, doc_id: str, grade: int | None, flagged: bool
    ) -> models.State:
        """Record a grade.

        Raises:
            UsageError: If the query has no such result, the number is out of range, or a flagged
                result does not have grade 0.
        """
        query = self._query(number)
        if not any(doc_id in found for found in query.results.values()):
            raise UsageError("this document is not a result of the query")
        if flagged and grade != 0:
            raise UsageError("a result that is flagged as irrelevant must have grade 0")
        judged = Grade(grade, flagged)
        judgments.record_grade(self.store, annotator, query.query_id, doc_id, judged)
        return self._state(annotator, number)

    def choose(self, annotator: Annotator, number: int, choice: str | None) -> models.State:
        """Record the chosen column.

        Raises:
            UsageError: If the number is out of range, or no column has the label.
        """
        query = self._query(number)
        choices = {**self._labels(annotator, query), models.NONE_OF_THEM: NONE_CHOSEN}
        if choice is not None and choice not in choices:
            raise UsageError("no column has this label")
        mode = None if choice is None else choices[choice]
        judgments.record_choice(self.store, annotator, query.query_id, mode)
        return self._state(annotator, number)

    def undo(self, annotator: Annotator) -> models.Undone:
        """Undo the last judgment of an annotator."""
        undone = judgments.undo_last(self.store, annotator)
        if undone is None:
            return models.Undone(what=None, doc_id=None, state=None)
        query_id, doc_id = undone
        return models.Undone(
            what="choice" if doc_id is None else "grade",
            doc_id=doc_id,
            state=self._state(annotator, self._numbers[query_id]),
        )

    def _query(self, number: int) -> ReviewQuery:
        if not 1 <= number <= len(self._queries):
            raise UsageError(f"expected a query number from 1 to {len(self._queries)}")
        return self._queries[number - 1]

    def _labels(self, annotator: Annotator, query: ReviewQuery) -> dict[str, str]:
        """Return the mode of each label."""
        seed, modes = self.store.study.seed, self.material.modes
        order = order_modes(modes, seed, annotator.key, query.query_id)
        return dict(zip(LABELS, order, strict=False))

    def _state(self, annotator: Annotator, number: int) -> models.State:
        query = self._query(number)
        judged = judgments.read_query_judgments(self.store, annotator, query.query_id)
        labels = {mode: label for label, mode in self._labels(annotator, query).items()}
        labels[NONE_CHOSEN] = models.NONE_OF_THEM
        return models.State(
            query=number,
            grades=judged.grades,
            choice=None if judged.choice is None else labels[judged.choice],
            progress=_progress(query, judged),
        )


def _progress(query: ReviewQuery, judged: QueryJudgments) -> models.QueryProgress:
    results = {doc_id for found in query.results.values() for doc_id in found}
    graded = len(results & judged.grades.keys())
    chosen = judged.choice is not None
    return models.QueryProgress(
        judged=graded,
        results=len(results),
        chosen=chosen,
        complete=chosen and graded == len(results),
    )


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
            :func:`~trectools_plus.service.review.judgments.key_of`.
        query_id: The query.

    Returns:
        The modes from left to right: labels A, B, …
    """
    return sorted(modes, key=lambda mode: _sort_key(seed, "mode", annotator, query_id, mode))


def _sort_key(seed: int, *names: str) -> bytes:
    parts = [str(seed), *names]
    # Lengths are included, so that ("ab", "c") and ("a", "bc") differ.
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
