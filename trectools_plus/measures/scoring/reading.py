"""Files that may not be clean: read as a whole, or in chunks by Polars, whichever is faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from trectools_plus.distributed import current_workers
from trectools_plus.errors import CheckFailedError, InputError, UsageError, raise_all
from trectools_plus.formats.interchange.names import (
    ColumnNames,
    columns_for_qrels,
    columns_for_run,
)
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.scoring.chunks import ScoredFile
from trectools_plus.measures.scoring.files import OpenedFiles, has_errors
from trectools_plus.measures.scoring.judgments import Judgments
from trectools_plus.measures.scoring.low_memory import score_large_file
from trectools_plus.measures.scoring.ranking import depend_on_grades_only
from trectools_plus.measures.scoring.views import LoadedQrels, Opened, OpenRuns, score_file
from trectools_plus.progress import Progress, no_progress
from trectools_plus.validation.findings import notes_on_findings, refuse_errors
from trectools_plus.validation.loading import (
    RunLoader,
    load_qrels_with_findings,
    load_runs_with_findings,
)


@dataclass(frozen=True)
class FileReader:
    """Reads files like :func:`~trectools_plus.measures.scoring.files.open_files`.

    Attributes:
        measures: The measures to compute, each once.
        low_memory: Read every run in chunks.
        strict_input: Refuse every error, also those that change no figure.
        columns: The columns of some fields in tables.
    """

    measures: Sequence[Measure]
    low_memory: bool
    strict_input: bool
    columns: ColumnNames | None = None

    def open_files(
        self,
        qrels: str,
        runs: Sequence[str],
        scored_files: Mapping[str, ScoredFile],
        progress: Progress,
    ) -> OpenedFiles:
        """Read qrels and runs.

        Args:
            qrels: The judgments.
            runs: The runs.
            scored_files: Runs that have been scored, by path.
            progress: Receives the number of finished runs, for the step ``scoring``.
        """
        with ThreadPoolExecutor(1) as pool:
            # The first run is read at the same time.
            load = partial(
                load_qrels_with_findings,
                qrels,
                strict_input=self.strict_input,
                columns=columns_for_qrels(self.columns),
            )
            loaded = pool.submit(load) if Path(qrels).is_file() else _load_here(load)
            judgments = pool.submit(lambda: Judgments.of(loaded.result()[0]))

            opener: OpenRuns = partial(
                _open_large if self.low_memory else _open_runs,
                strict_input=self.strict_input,
                columns=columns_for_run(self.columns),
            )
            scored: dict[str, list[Opened]] = {
                path: [(run, run.findings)] for path, run in scored_files.items()
            }
            if (workers := current_workers()) is not None:
                from trectools_plus.measures.scoring.distributed import score_on_workers

                table = loaded.result()[0]
                scored |= score_on_workers(workers, runs, table, self.measures, opener, progress)
                progress = no_progress

            def open_runs(path: str) -> list[Opened]:
                if path in scored:
                    return scored[path]
                return opener(path, loaded, judgments, self.measures)

            opened = _open_each(runs, open_runs, loaded, progress)
            table, of_qrels = loaded.result()
            of_runs = [finding for _, findings in opened for finding in findings]
            notes = notes_on_findings(of_runs, of_qrels)
            return OpenedFiles(table, [run for run, _ in opened], notes)


def _load_here(load: Callable[[], LoadedQrels]) -> Future[LoadedQrels]:
    """Read the qrels in this thread, so that Ctrl-C can interrupt waiting for a pipe or server."""
    loaded: Future[LoadedQrels] = Future()
    try:
        loaded.set_result(load())
    except Exception as error:
        loaded.set_exception(error)
    return loaded


def _open_runs(
    path: str,
    qrels: Future[LoadedQrels],
    judgments: Future[Judgments],
    measures: Sequence[Measure],
    *,
    strict_input: bool,
    columns: ColumnNames | None,
) -> list[Opened]:
    """Open a run, or each run of a table of several systems."""
    scored = None
    if columns is None and depend_on_grades_only(measures):
        scored = score_file(path, judgments, measures)
    if scored is not None and not (strict_input and has_errors(scored.findings)):
        return [(scored, scored.findings)]
    accepts_unjudged = any(measure.sees_unjudged for measure in measures)
    loader = RunLoader(
        qrels.result()[0], accepts_unjudged=accepts_unjudged, strict_input=strict_input
    )
    return [(run, found) for run, found in load_runs_with_findings(path, loader, columns)]


def _open_large(
    path: str,
    qrels: Future[LoadedQrels],  # noqa: ARG001
    judgments: Future[Judgments],
    measures: Sequence[Measure],
    *,
    strict_input: bool,
    columns: ColumnNames | None,
) -> list[Opened]:
    if columns is not None:
        raise UsageError(
            "--low-memory reads only TREC form",
            where="--columns",
            remedy="leave one of them out, or convert the run: runs convert",
        )
    scored = score_large_file(path, judgments, measures)
    refuse_errors(scored.findings, strict_input=strict_input)
    return [(scored, scored.findings)]


def _open_each(
    paths: Sequence[str],
    open_runs: Callable[[str], list[Opened]],
    qrels: Future[LoadedQrels],
    progress: Progress,
) -> list[Opened]:
    """Open every run, and report the errors of all runs together."""
    opened: list[Opened] = []
    errors: list[CheckFailedError | InputError] = []
    for done, path in enumerate(paths):
        progress("scoring", done, len(paths))
        try:
            opened += open_runs(path)
        except (CheckFailedError, InputError) as error:
            qrels.result()  # raises errors of the qrels first
            errors.append(error)
    raise_all(errors)
    progress("scoring", len(paths), len(paths))
    return opened
