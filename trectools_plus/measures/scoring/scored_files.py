"""Reading of qrels and run files for scoring: runs in chunks where possible, others as a whole.

Inside :func:`~trectools_plus.distributed.use_scheduler`, workers read the runs. Judgments and
measures are sent to each worker once. Workers must have access to the files under the same path or
URL. The caller reads the remaining files and reports their errors, as without workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from trectools_plus.distributed import Place, check_seen, current_workers, place_of
from trectools_plus.errors import CheckFailedError, InputError, MissingExtraError, raise_all
from trectools_plus.formats.interchange.names import (
    ColumnNames,
    columns_for_qrels,
    columns_for_run,
)
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.scoring.scores import (
    JudgedFile,
    PartJudge,
    accept_unjudged,
    deepest_rank_needed,
    depend_on_grades_only,
    judge_file,
    same,
)
from trectools_plus.progress import Progress, no_progress
from trectools_plus.validation.findings import (
    Finding,
    notes_on_findings,
    refuse_errors,
)
from trectools_plus.validation.loading import accept_run, open_single_run, open_valid_qrels
from trectools_plus.validation.parts import NotInPartsError
from trectools_plus.validation.registry import JUDGED_CUTOFF

if TYPE_CHECKING:
    from trectools_plus.distributed.cluster import Cluster
    from trectools_plus.formats.tables import Qrels, Run
    from trectools_plus.validation.inputs import Exclusions

    OpenedRun = tuple[Run | JudgedFile, tuple[Finding, ...]]
    """A run that was read, and its findings that do not block scoring."""


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


@dataclass(frozen=True)
class RunOpener:
    """Opens runs: finds judged documents, or reads all if a measure depends on document ids.

    Attributes:
        qrels: The judgments; a table if the opener is sent to workers.
        measures: The measures to compute, each once.
        strict_input: Refuse every error, also those that change no figure.
        columns: The columns of some fields in tables.
        as_tables: Read every run, whatever the measures.
    """

    qrels: Qrels | JudgedQueries
    measures: Sequence[Measure]
    strict_input: bool = False
    columns: ColumnNames | None = None
    as_tables: bool = False

    @cached_property
    def judgments(self) -> JudgedQueries:
        """The judgments with their hash table."""
        return JudgedQueries.of(self.qrels)

    def open(self, path: str) -> OpenedRun:
        """Open a run.

        Raises:
            FindingsError: If the run has errors that block scoring.
        """
        qrels, depth = self.judgments, deepest_rank_needed(self.measures)
        depth = None if depth is None else max(depth, JUDGED_CUTOFF)
        is_judged = depend_on_grades_only(self.measures) and not self.as_tables
        if is_judged and self.columns is None:
            try:
                run, of_file, parts = judge_file(path, PartJudge(qrels, same, depth=depth))
                refuse_errors(of_file, strict_input=self.strict_input)
                judged = JudgedFile(run.tag, run.path, run.query_ids, qrels.place(parts))
                return judged, tuple(of_file)
            except NotInPartsError:
                pass
        view = open_single_run(path, columns=self.columns)
        findings = accept_run(
            view,
            qrels.view,
            accepts_unjudged=accept_unjudged(self.measures),
            strict_input=self.strict_input,
        )
        if not is_judged:
            return view.table(view.tag), findings
        ranks = qrels.place([qrels.look_up(view, depth=depth)])
        return JudgedFile(view.tag, view.path, view.query_ids, ranks), findings

    def open_on_worker(self, file: tuple[str, Place]) -> OpenedRun | None:
        """Open a file on a worker; return ``None`` if the caller has to do it.

        Raises:
            UsageError: If the file is missing here, is a different file, or cannot be read here.
        """
        path, place = file
        check_seen(path, place)
        try:
            run, findings = self.open(place.path)
        except (CheckFailedError, InputError, MissingExtraError):
            return None
        return replace(run, path=path), tuple(replace(finding, path=path) for finding in findings)


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
    only.

    Args:
        qrels: The judgments, a file; ``-`` is standard input.
        runs: The runs, in the same way.
        measures: The measures to compute, each once.
        strict_input: Refuse every error, also those that change no figure.
        columns: The columns of some fields in tables.
        exclude: Documents to leave out of runs and judgments.
        progress: Receives the number of finished runs, for the step ``scoring``.

    Returns:
        The arguments of :func:`~trectools_plus.measures.evaluation.score_runs`.

    Raises:
        FindingsError: If a file has errors that block scoring.
        InputError: If a file cannot be read, or the workers or the scheduler are lost.
        SeveralFilesError: If several runs have errors or cannot be read.
        UsageError: If a measure cannot score this input, or workers cannot find a file.
    """
    view, of_qrels = open_valid_qrels(
        qrels, strict_input=strict_input, columns=columns_for_qrels(columns)
    )
    judged = JudgedQueries.of_view(view)
    opener = RunOpener(
        judged, measures, strict_input, columns_for_run(columns), as_tables=exclude is not None
    )
    scored: dict[str, OpenedRun] = {}
    if (workers := current_workers()) is not None and exclude is None:
        sent = replace(opener, qrels=view.table(qrels))
        scored = _open_on_workers(workers, sent, runs)
    opened = _open_each(runs, lambda path: scored.get(path) or opener.open(path), progress)
    notes = notes_on_findings([one for _, findings in opened for one in findings], of_qrels)
    found = [run for run, _ in opened]
    if exclude is not None:
        tables = [run for run in found if not isinstance(run, JudgedFile)]
        kept = [exclude.from_run(run) for run in tables]
        notes = [exclude.describe({run.path or run.name: run for run in tables}), *notes]
        return OpenedFiles(exclude.from_qrels(view.table(qrels)), kept, notes)
    all_scored = all(isinstance(run, JudgedFile) for run in found)
    return OpenedFiles(judged if all_scored else view.table(qrels), found, notes)


def _open_on_workers(
    workers: Cluster, opener: RunOpener, paths: Sequence[str]
) -> dict[str, OpenedRun]:
    """Return the runs that workers can read and that have no errors, by path."""
    places = {path: place_of(path) for path in dict.fromkeys(paths)}
    files = [(path, place) for path, place in places.items() if place is not None]
    results = workers.map(opener.open_on_worker, files)
    return {path: opened for (path, _), opened in zip(files, results, strict=True) if opened}


def _open_each(
    paths: Sequence[str], open_run: Callable[[str], OpenedRun], progress: Progress
) -> list[OpenedRun]:
    """Open every run, and report the errors of all runs together."""
    opened: list[OpenedRun] = []
    errors: list[CheckFailedError | InputError] = []
    for done, path in enumerate(paths):
        progress("scoring", done, len(paths))
        try:
            opened.append(open_run(path))
        except (CheckFailedError, InputError) as error:
            errors.append(error)
    raise_all(errors)
    progress("scoring", len(paths), len(paths))
    return opened
