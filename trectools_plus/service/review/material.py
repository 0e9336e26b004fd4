"""The results that the review page shows, with texts if available, and judgments made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import polars as pl

from trectools_plus.benchmark.report_folder import ReportFolder
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.errors import CheckFailedError, TrectoolsPlusError, UsageError
from trectools_plus.formats.ranking import rank_documents
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.judging.judgments import (
    QueryJudgments,
    begin_session,
    find_annotator,
    find_session_annotator,
    read_all_judgments,
    record_labels,
)
from trectools_plus.judging.labels import MAX_GRADE
from trectools_plus.judging.plan import PlanFolder, has_too_many_missing
from trectools_plus.judging.store import (
    DATABASE_NAME,
    ReviewMaterial,
    ReviewQuery,
    ShownDocument,
    Store,
    load_plan_material,
    open_store,
)
from trectools_plus.service.metrics import dataset_name

DEFAULT_DEPTH = 10
MAX_MODES = 8


def load_material(
    report: str | Path, modes: Sequence[str] | None = None, depth: int = DEFAULT_DEPTH
) -> ReviewMaterial:
    """Read the results to judge.

    Texts come from the report's dataset if it can be read and its hashes are unchanged. Otherwise
    the page shows ids, and ``notes`` says so.

    Args:
        report: ``BenchmarkReport.json``, or its folder.
        modes: Two to eight of the report's modes; all of them if ``None``.
        depth: Number of results of each mode, at least 1.

    Raises:
        UsageError: If a mode is not in the report, their number is out of range, or there are no
            results.
        InputError: If the report or a run cannot be read, or a run has changed since it was scored.
    """
    source = ReportFolder(report)
    chosen = _choose_modes(source, modes)
    results = {mode: _first_results(source.read_run(mode), depth) for mode in chosen}
    query_ids = list(
        dict.fromkeys(query_id for by_query in results.values() for query_id in by_query)
    )
    if not query_ids:
        raise UsageError("the modes of the report have no results to judge", where=str(source.path))
    dataset = _find_dataset(source)
    texts = {} if dataset is None or dataset.topics is None else dataset.topics.to_dict()
    queries = tuple(
        ReviewQuery(
            query_id,
            texts.get(query_id),
            {mode: results[mode].get(query_id, ()) for mode in chosen},
        )
        for query_id in query_ids
    )
    documents = _read_documents(dataset, queries)
    name = dataset_name(source.report.manifest.dataset.id)
    note = "ids are shown instead of texts: the dataset of the report is missing or has changed"
    return ReviewMaterial(name, chosen, depth, queries, documents, () if documents else (note,))


def open_plan(folder: PlanFolder, database: str | Path) -> tuple[ReviewMaterial, Store]:
    """Return the pooled documents of a plan, and its review database.

    Raises:
        InputError: If the database cannot be opened.
        IncomparableError: If it contains judgments of other results.
    """
    material = load_plan_material(folder)
    seed = None if Path(database).exists() else folder.plan.seed
    return material, open_store(database, material, seed)


def _choose_modes(source: ReportFolder, modes: Sequence[str] | None) -> tuple[str, ...]:
    known = [*source.report.modes]
    wanted = known if modes is None else modes
    chosen = tuple(mode for mode in known if mode in wanted)
    if not 2 <= len(chosen) <= MAX_MODES or not set(wanted) <= set(known):
        raise UsageError(
            f"expected 2 to {MAX_MODES} modes of the report but got {', '.join(wanted)}",
            where=str(source.path),
            remedy=f"select some with --modes: {', '.join(known)}",
        )
    return chosen


def _first_results(run: Run, depth: int) -> dict[str, tuple[str, ...]]:
    """Return the ids of the first documents of each query, in the order used for scoring."""
    top = rank_documents(run.frame).filter(pl.col("rank") <= depth)
    grouped = top.group_by("query_id", maintain_order=True).agg("doc_id")
    return {query_id: tuple(doc_ids) for query_id, doc_ids in grouped.iter_rows()}


def _find_dataset(source: ReportFolder) -> Dataset | None:
    """Return the report's dataset; ``None`` if it is missing or has changed."""
    then = source.report.manifest.dataset.contents
    with suppress(TrectoolsPlusError, OSError):
        dataset, _ = source.load_original()
        now = {} if dataset is None else dataset.hash_contents()
        if all(now.get(part) == then.get(part) for part in ("topics", "corpus")):
            return dataset
    return None


def _read_documents(
    dataset: Dataset | None, queries: Sequence[ReviewQuery]
) -> dict[str, ShownDocument]:
    if dataset is None or dataset.corpus is None:
        return {}
    shown = {
        doc_id for query in queries for doc_ids in query.results.values() for doc_id in doc_ids
    }
    frame = dataset.corpus.find(pl.Series(list(shown), dtype=pl.String))
    return {doc_id: ShownDocument.of(title, text) for doc_id, title, text in frame.iter_rows()}


class ImportedJudgments(NamedTuple):
    """The numbers of imported judgments.

    Attributes:
        queries: The number of queries of the plan that the qrels judge.
        graded: The number of pooled documents with a grade.
        missing: The number of pooled documents of these queries that the qrels do not judge.
        open: The number of queries with more than a tenth of such documents, about which people are
            asked.
    """

    queries: int
    graded: int
    missing: int
    open: int


def import_judgments(folder: PlanFolder, qrels: Qrels, annotator: str) -> ImportedJudgments:
    """Add the grades of qrels to the review database of a plan, as those of an annotator.

    Negative grades count as 0. A pooled document that the qrels do not judge is one that the
    annotator cannot judge, unless these are more than a tenth of the pool of a query: then people
    are asked about them.

    Args:
        folder: The plan.
        qrels: Grades of people, up to 3.
        annotator: The name of the annotator, who may have judged before.

    Raises:
        UsageError: If a grade is above 3, or differs from one that the annotator gave before.
        CheckFailedError: If the qrels judge no query of the plan.
        InputError: If the database cannot be opened.
    """
    grades, where = qrels.to_dict(), qrels.path or "qrels"
    judged = [query_id for query_id in folder.plan.queries if query_id in grades]
    if not judged:
        raise CheckFailedError(
            "the qrels judge no query of the plan",
            where=where,
            remedy=f"the plan has queries such as {', '.join(folder.plan.queries[:3])}",
        )
    rows: list[tuple[str, str, int | None]] = []
    missing = still_open = 0
    for query_id in judged:
        grade_of, pool = grades[query_id], folder.pool[query_id]
        absent = len(pool) - sum(doc_id in grade_of for doc_id in folder.judgeable[query_id])
        is_open = has_too_many_missing(absent, len(pool))
        missing += absent
        still_open += is_open
        rows += [
            (query_id, doc_id, grade_of.get(doc_id))
            for doc_id in folder.judgeable[query_id]
            if doc_id in grade_of or not is_open
        ]
    with closing(open_plan(folder, folder.path / DATABASE_NAME)[1]) as store:
        is_known = find_annotator(store, annotator) is not None
        secret = begin_session(store, annotator, resume=is_known)
        person = find_session_annotator(store, secret or "")
        assert person is not None
        added = _find_new(rows, read_all_judgments(store, person), where)
        record_labels(store, person, added, f"not judged in {where}")
    graded = sum(grade is not None for _, _, grade in added)
    return ImportedJudgments(len(judged), graded, missing, still_open)


def _find_new(
    rows: list[tuple[str, str, int | None]], before: Mapping[str, QueryJudgments], where: str
) -> list[tuple[str, str, int | None]]:
    """Return the judgments that the annotator has not made before, with grades from 0 to 3."""
    added = []
    for query_id, doc_id, relevance in rows:
        known = before.get(query_id, QueryJudgments())
        old = known.grades.get(doc_id)
        grade = None if relevance is None else max(0, relevance)
        if grade is not None and (grade > MAX_GRADE or (old and old.grade != grade)):
            raise UsageError(
                f"grade {grade} is above {MAX_GRADE}, or differs from one that was given before",
                where=f"{where}, query {query_id}, document {doc_id}",
                remedy=f"use grades from 0 to {MAX_GRADE}, or another name with --annotator",
            )
        if old is None and (grade is not None or doc_id not in known.missing):
            added.append((query_id, doc_id, grade))
    return added
