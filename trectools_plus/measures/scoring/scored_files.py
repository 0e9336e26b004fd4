"""Reading of qrels and run files for scoring: runs in chunks where possible, others as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from trectools_plus.distributed import current_workers
from trectools_plus.errors import CheckFailedError, InputError, raise_all
from trectools_plus.formats.interchange.names import (
    ColumnNames,
    columns_for_qrels,
    columns_for_run,
)
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.scoring.scores import JudgedFile, RunOpener
from trectools_plus.progress import Progress, no_progress
from trectools_plus.validation.findings import Finding, Severity, notes_on_findings
from trectools_plus.validation.loading import open_valid_qrels

if TYPE_CHECKING:
    from trectools_plus.formats.tables import Qrels, Run
    from trectools_plus.measures.scoring.scores import OpenedRun
    from trectools_plus.validation.exclusions import Exclusions


class OpenedFiles(NamedTuple):
    """Files that are ready for :func:`~trectools_plus.measures.evaluation.score_runs`.

    Attributes:
        qrels: The judgments; only their grades if all runs are scored.
        runs: The runs, read or already scored, in the order given.
        notes: Notes on the findings that change no figure.
    """

    qrels: Qrels | JudgedQueries
    runs: Sequence[Run | JudgedFile]
    notes: list[str]


def open_files(
    qrels: str,
    runs: Sequence[str],
    measures: Sequence[Measure],
    *,
    strict_input: bool = False,
    columns: ColumnNames | None = None,
    exclude: Exclusions | None = None,
    progress: Progress = no_progress,
) -> OpenedFiles:
    """Read qrels and run files, and refuse those whose figures would be wrong or ambiguous.

    The judged documents of runs are found while they are read, if the measures depend on grades
    only. Inside :func:`~trectools_plus.distributed.use_scheduler`, workers read the runs.

    Args:
        qrels: The judgments, a file or an address; ``-`` is standard input.
        runs: The runs, in the same way.
        measures: The measures to compute, each once.
        strict_input: Refuse every error, also those that change no figure.
        columns: The columns of some fields in tables.
        exclude: Documents to leave out of runs and judgments.
        progress: Receives the number of finished runs, for the step ``scoring``.

    Returns:
        The arguments of :func:`~trectools_plus.measures.evaluation.score_runs`. A table of several
        systems is several runs, with its path and the names of the systems.

    Raises:
        FindingsError: If a file has errors that block scoring.
        InputError: If a file cannot be read.
        SeveralFilesError: If several runs have errors or cannot be read.
        UsageError: If a measure cannot score this input.
    """
    judged, of_qrels = open_valid_qrels(
        qrels, strict_input=strict_input, columns=columns_for_qrels(columns)
    )
    opener = RunOpener(
        tuple(measures), strict_input, columns_for_run(columns), as_tables=exclude is not None
    )
    scored: dict[str, list[OpenedRun]] = {}
    if (workers := current_workers()) is not None and exclude is None:
        from trectools_plus.measures.scoring.distributed import score_on_workers

        scored = score_on_workers(workers, runs, judged.table(qrels), opener, progress)
        progress = no_progress
    judgments = JudgedQueries.of_view(judged)

    def open_run(path: str) -> list[OpenedRun]:
        return scored[path] if path in scored else opener.open(path, judgments)

    opened = _open_each(runs, open_run, progress)
    of_runs = [finding for _, findings in opened for finding in findings]
    notes = notes_on_findings(of_runs, of_qrels)
    found = [run for run, _ in opened]
    if exclude is not None:
        tables = [run for run in found if not isinstance(run, JudgedFile)]
        kept = [exclude.from_run(run) for run in tables]
        notes = [exclude.describe({run.path or run.name: run for run in tables}), *notes]
        return OpenedFiles(exclude.from_qrels(judged.table(qrels)), kept, notes)
    all_scored = all(isinstance(run, JudgedFile) for run in found)
    return OpenedFiles(judgments if all_scored else judged.table(qrels), found, notes)


def _open_each(
    paths: Sequence[str], open_run: Callable[[str], list[OpenedRun]], progress: Progress
) -> list[OpenedRun]:
    """Open every run, and report the errors of all runs together."""
    opened: list[OpenedRun] = []
    errors: list[CheckFailedError | InputError] = []
    for done, path in enumerate(paths):
        progress("scoring", done, len(paths))
        try:
            opened += open_run(path)
        except (CheckFailedError, InputError) as error:
            errors.append(error)
    raise_all(errors)
    progress("scoring", len(paths), len(paths))
    return opened


def has_errors(findings: Iterable[Finding]) -> bool:
    """Return whether a finding is an error."""
    return any(finding.severity is Severity.ERROR for finding in findings)
