"""The contents of the review page: results of a report's modes.

Results have texts if available.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import polars as pl

from trectools_plus.benchmark.report_folder import ReportFolder
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.formats.ranking import rank_documents
from trectools_plus.formats.tables import Run
from trectools_plus.judging.plan import PlanFolder
from trectools_plus.judging.review.shown import (
    ReviewMaterial,
    ReviewQuery,
    ShownDocument,
    load_plan_material,
)
from trectools_plus.judging.review.store import Store, open_store
from trectools_plus.service.api.snapshots import dataset_name

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
    query_ids = list(dict.fromkeys(query_id for found in results.values() for query_id in found))
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
    shown = {doc_id for query in queries for found in query.results.values() for doc_id in found}
    frame = dataset.corpus.find(pl.Series(list(shown), dtype=pl.String))
    return {doc_id: ShownDocument.of(title, text) for doc_id, title, text in frame.iter_rows()}
