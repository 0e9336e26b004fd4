"""Reading of qrels and run files for scoring, as a whole or in chunks, whichever is faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from trectools_plus.distributed import current_workers
from trectools_plus.errors import CheckFailedError, InputError, UsageError, raise_all
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import refuse_id_mismatch
from trectools_plus.measures.judged import Judgments
from trectools_plus.measures.scoring.chunks import ScoredFile, score_file
from trectools_plus.measures.scoring.low_memory import score_large_file
from trectools_plus.measures.scoring.ranking import depend_on_grades_only
from trectools_plus.progress import Progress, no_progress
from trectools_plus.validation.loading import load_qrels, load_run


def open_files(
    qrels: str,
    runs: Sequence[str],
    measures: Sequence[Measure],
    *,
    low_memory: bool = False,
    progress: Progress = no_progress,
) -> tuple[Qrels, list[Run | ScoredFile]]:
    """Read qrels and run files, and refuse those with errors.

    Inside :func:`~trectools_plus.distributed.use_scheduler`, workers read and score the runs.

    Args:
        qrels: The judgments, a file or an address; ``-`` is standard input.
        runs: The runs, in the same way.
        measures: The measures to compute, each once.
        low_memory: Read every run in chunks.
        progress: Receives the number of finished runs, for the step ``scoring``.

    Returns:
        The arguments of :func:`~trectools_plus.measures.evaluation.score_runs`.

    Raises:
        FindingsError: If a file has errors.
        InputError: If a file cannot be read.
        SeveralFilesError: If several runs have errors or cannot be read.
        UsageError: If a measure cannot score this input.
    """
    if low_memory:
        _require_grades_only(measures)
    with ThreadPoolExecutor(1) as pool:
        # The first run is read at the same time.
        table = pool.submit(load_qrels, qrels) if Path(qrels).is_file() else _load_here(qrels)
        judgments = pool.submit(lambda: Judgments.of(table.result()))

        opener = _open_large if low_memory else _open_run
        scored: Mapping[str, Run | ScoredFile] = {}
        if (workers := current_workers()) is not None:
            from trectools_plus.measures.scoring.distributed import score_on_workers

            scored = score_on_workers(workers, runs, table.result(), measures, opener, progress)
            progress = no_progress

        def open_run(path: str) -> Run | ScoredFile:
            return scored[path] if path in scored else opener(path, table, judgments, measures)

        opened = _open_each(runs, open_run, table, progress)
        return table.result(), opened


def name_runs(runs: Sequence[Run | ScoredFile]) -> dict[str, Run | ScoredFile]:
    """Return runs by tag, or by path if several have the same tag.

    Raises:
        UsageError: If a run is given twice.
    """
    tags = [run.name for run in runs]
    named: dict[str, Run | ScoredFile] = {}
    for run in runs:
        name = run.name if tags.count(run.name) == 1 else run.path or run.name
        if name in named:
            raise UsageError(f"{name} is given twice", remedy="pass each run file once")
        named[name] = run
    return named


def _load_here(qrels: str) -> Future[Qrels]:
    """Read the qrels in this thread, so that Ctrl-C can interrupt waiting for a pipe or server."""
    loaded: Future[Qrels] = Future()
    try:
        loaded.set_result(load_qrels(qrels))
    except Exception as error:
        loaded.set_exception(error)
    return loaded


def _open_run(
    path: str, qrels: Future[Qrels], judgments: Future[Judgments], measures: Sequence[Measure]
) -> Run | ScoredFile:
    scored = score_file(path, judgments, measures) if depend_on_grades_only(measures) else None
    return scored or _load(path, qrels.result(), measures)


def _open_large(
    path: str,
    qrels: Future[Qrels],  # noqa: ARG001
    judgments: Future[Judgments],
    measures: Sequence[Measure],
) -> ScoredFile:
    return score_large_file(path, judgments, measures)


def _load(path: str, qrels: Qrels, measures: Sequence[Measure]) -> Run:
    """Read a whole run; accept one without judged documents if a measure can score it."""
    if not any(measure.sees_unjudged for measure in measures):
        return load_run(path, qrels=qrels)
    run = load_run(path)
    refuse_id_mismatch(run, qrels, measures)
    return run


def _open_each(
    paths: Sequence[str],
    open_run: Callable[[str], Run | ScoredFile],
    qrels: Future[Qrels],
    progress: Progress,
) -> list[Run | ScoredFile]:
    """Open every run, and report the errors of all runs together."""
    opened: list[Run | ScoredFile] = []
    errors: list[CheckFailedError | InputError] = []
    for done, path in enumerate(paths):
        progress("scoring", done, len(paths))
        try:
            opened.append(open_run(path))
        except (CheckFailedError, InputError) as error:
            qrels.result()  # raises errors of the qrels first
            errors.append(error)
    raise_all(errors)
    progress("scoring", len(paths), len(paths))
    return opened


def _require_grades_only(measures: Sequence[Measure]) -> None:
    for measure in measures:
        if not depend_on_grades_only([measure]):
            raise UsageError(
                f"{measure.name} depends on document ids and needs the whole run in memory",
                where="--low-memory",
                remedy="leave out the option or the measure",
            )
