"""The contents of the review page: results of a report's modes or a plan, and the guideline.

Results have texts if available.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError
from trectools_plus.formats.ranking import rank_documents
from trectools_plus.formats.tables import Run
from trectools_plus.judging.review.shown import ReviewMaterial, ReviewQuery, ShownDocument
from trectools_plus.service.api.snapshots import dataset_name

DEFAULT_DEPTH = 10
MAX_DEPTH = 100
MAX_MODES = 8


def load_material(
    report: str | Path, modes: Sequence[str] | None = None, depth: int = DEFAULT_DEPTH
) -> ReviewMaterial:
    """Read the results to judge.

    Texts come from the report's dataset if it can be read and its hashes are unchanged. Otherwise
    the page shows ids, and ``notes`` contains the reason.

    Args:
        report: ``BenchmarkReport.json``, or its folder.
        modes: Two to eight of the report's modes; all of them if ``None``.
        depth: Number of results of each mode, 1 to 100.

    Raises:
        UsageError: If a mode is not in the report, or the number of modes or the depth is out of
            range.
        InputError: If the report or a run cannot be read, or a run has changed since it was scored.
    """
    source = ReportFolder(report)
    chosen = _choose_modes(source, modes)
    if not 1 <= depth <= MAX_DEPTH:
        raise UsageError(
            f"expected a depth from 1 to {MAX_DEPTH} but got {depth}",
            where="--depth",
            remedy=f"{DEFAULT_DEPTH} is the default",
        )
    results = {mode: _first_results(source.read_run(mode), depth) for mode in chosen}
    query_ids = list(dict.fromkeys(query_id for found in results.values() for query_id in found))
    if not query_ids:
        raise UsageError("the modes of the report have no results to judge", where=str(source.path))
    dataset, notes = _find_dataset(source)
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
    return ReviewMaterial(name, chosen, depth, queries, documents, notes)


def _choose_modes(source: ReportFolder, modes: Sequence[str] | None) -> tuple[str, ...]:
    known = list(source.report.modes)
    wanted = known if modes is None else list(modes)
    for mode in wanted:
        if mode not in known:
            raise UsageError(
                f"'{mode}' is not a mode of the report",
                where=str(source.path),
                remedy=f"choose two or more of {', '.join(known)}",
            )
    chosen = tuple(mode for mode in known if mode in wanted)
    if not 2 <= len(chosen) <= MAX_MODES:
        raise UsageError(
            f"expected 2 to {MAX_MODES} modes to show side by side but got {len(chosen)}",
            where=str(source.path),
            remedy=f"select some with --modes: {', '.join(known)}",
        )
    return chosen


def _first_results(run: Run, depth: int) -> dict[str, tuple[str, ...]]:
    """Return the ids of the first documents of each query, in the order used for scoring."""
    top = rank_documents(run.frame).filter(pl.col("rank") <= depth)
    grouped = top.group_by("query_id", maintain_order=True).agg("doc_id")
    return {query_id: tuple(doc_ids) for query_id, doc_ids in grouped.iter_rows()}


def _find_dataset(source: ReportFolder) -> tuple[Dataset | None, tuple[str, ...]]:
    """Return the report's dataset if it is unchanged, and a note if texts are unavailable."""
    try:
        dataset, reason = source.load_original()
        if dataset is None:
            return None, (f"ids are shown instead of texts: {reason}",)
        now, then = dataset.hash_contents(), source.report.manifest.dataset.contents
    except (TrectoolsPlusError, OSError) as error:
        return None, (f"ids are shown instead of texts: the dataset cannot be read: {error}",)
    for part, words in (("topics", "queries"), ("corpus", "documents")):
        if now.get(part) != then.get(part):
            return None, (f"ids are shown instead of texts: the dataset's {words} have changed",)
    if dataset.corpus is None:
        return dataset, ("ids of documents are shown instead of texts: the report has no corpus",)
    return dataset, ()


def _read_documents(
    dataset: Dataset | None, queries: Sequence[ReviewQuery]
) -> dict[str, ShownDocument]:
    if dataset is None or dataset.corpus is None:
        return {}
    shown = {doc_id for query in queries for found in query.results.values() for doc_id in found}
    frame = dataset.corpus.find(pl.Series(list(shown), dtype=pl.String))
    return {doc_id: ShownDocument.of(title, text) for doc_id, title, text in frame.iter_rows()}


MAX_GUIDELINE_BYTES = 65_536


def read_guideline(path: str | Path) -> str:
    """Read a guideline, which is shown as it is written.

    Args:
        path: A text file in UTF-8 with at most 64 KiB.

    Raises:
        InputError: If the file cannot be read, is too large, or is not UTF-8.
    """
    try:
        content = Path(path).read_bytes()
        if len(content) > MAX_GUIDELINE_BYTES:
            raise InputError("the guideline is larger than 64 KiB", where=str(path))
        return content.decode("utf-8-sig")
    except OSError as error:
        what = f"the guideline cannot be read: {error.strerror}"
        raise InputError(what, where=str(path)) from error
    except UnicodeDecodeError as error:
        what = "the guideline is not UTF-8"
        raise InputError(what, where=str(path), remedy="save it as UTF-8") from error
