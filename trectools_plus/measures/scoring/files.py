"""Reading of qrels and run files for scoring, as a whole or in chunks, whichever is faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from trectools_plus.distributed import current_workers
from trectools_plus.errors import CheckFailedError, InputError, UsageError, raise_all
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.scoring.chunks import LoadedQrels, Opened, ScoredFile, score_file
from trectools_plus.measures.scoring.judgments import Judgments
from trectools_plus.measures.scoring.low_memory import score_large_file
from trectools_plus.measures.scoring.ranking import depend_on_grades_only
from trectools_plus.progress import Progress, no_progress
from trectools_plus.validation.findings import (
    Finding,
    Severity,
    notes_on_findings,
    refuse_errors,
)
from trectools_plus.validation.loading import load_qrels_with_findings, load_run_with_findings


class OpenedFiles(NamedTuple):
    """Files that are ready for :func:`~trectools_plus.measures.evaluation.score_runs`.

    Attributes:
        qrels: The judgments.
        runs: The runs, read or already scored, in the order given.
        notes: Notes on the findings that change no figure.
    """

    qrels: Qrels
    runs: list[Run | ScoredFile]
    notes: list[str]


def open_files(
    qrels: str,
    runs: Sequence[str],
    measures: Sequence[Measure],
    *,
    low_memory: bool = False,
    strict_input: bool = False,
    progress: Progress = no_progress,
) -> OpenedFiles:
    """Read qrels and run files, and refuse those whose figures would be wrong or ambiguous.

    Inside :func:`~trectools_plus.distributed.use_scheduler`, workers read and score the runs.

    Args:
        qrels: The judgments, a file or an address; ``-`` is standard input.
        runs: The runs, in the same way.
        measures: The measures to compute, each once.
        low_memory: Read every run in chunks.
        strict_input: Refuse every error, also those that change no figure.
        progress: Receives the number of finished runs, for the step ``scoring``.

    Returns:
        The arguments of :func:`~trectools_plus.measures.evaluation.score_runs`.

    Raises:
        FindingsError: If a file has errors that block scoring.
        InputError: If a file cannot be read.
        SeveralFilesError: If several runs have errors or cannot be read.
        UsageError: If a measure cannot score this input.
    """
    if low_memory:
        _require_grades_only(measures)
    with ThreadPoolExecutor(1) as pool:
        # The first run is read at the same time.
        load = partial(load_qrels_with_findings, qrels, strict_input=strict_input)
        loaded = pool.submit(load) if Path(qrels).is_file() else _load_here(load)
        judgments = pool.submit(lambda: Judgments.of(loaded.result()[0]))

        opener = partial(_open_large if low_memory else _open_run, strict_input=strict_input)
        scored: Mapping[str, Opened] = {}
        if (workers := current_workers()) is not None:
            from trectools_plus.measures.scoring.distributed import score_on_workers

            table = loaded.result()[0]
            scored = score_on_workers(workers, runs, table, measures, opener, progress)
            progress = no_progress

        def open_run(path: str) -> Opened:
            return scored[path] if path in scored else opener(path, loaded, judgments, measures)

        opened = _open_each(runs, open_run, loaded, progress)
        table, of_qrels = loaded.result()
        of_runs = [finding for _, findings in opened for finding in findings]
        return OpenedFiles(table, [run for run, _ in opened], notes_on_findings(of_runs, of_qrels))


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


def _load_here(load: Callable[[], LoadedQrels]) -> Future[LoadedQrels]:
    """Read the qrels in this thread, so that Ctrl-C can interrupt waiting for a pipe or server."""
    loaded: Future[LoadedQrels] = Future()
    try:
        loaded.set_result(load())
    except Exception as error:
        loaded.set_exception(error)
    return loaded


def _open_run(
    path: str,
    qrels: Future[LoadedQrels],
    judgments: Future[Judgments],
    measures: Sequence[Measure],
    *,
    strict_input: bool,
) -> Opened:
    scored = score_file(path, judgments, measures) if depend_on_grades_only(measures) else None
    if scored is not None and not (strict_input and _has_errors(scored.findings)):
        return scored, scored.findings
    return load_run_with_findings(
        path,
        qrels=qrels.result()[0],
        accepts_unjudged=any(measure.sees_unjudged for measure in measures),
        strict_input=strict_input,
    )


def _has_errors(findings: Sequence[Finding]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)


def _open_large(
    path: str,
    qrels: Future[LoadedQrels],  # noqa: ARG001
    judgments: Future[Judgments],
    measures: Sequence[Measure],
    *,
    strict_input: bool,
) -> Opened:
    scored = score_large_file(path, judgments, measures)
    refuse_errors(scored.findings, strict_input=strict_input)
    return scored, scored.findings


def _open_each(
    paths: Sequence[str],
    open_run: Callable[[str], Opened],
    qrels: Future[LoadedQrels],
    progress: Progress,
) -> list[Opened]:
    """Open every run, and report the errors of all runs together."""
    opened: list[Opened] = []
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
