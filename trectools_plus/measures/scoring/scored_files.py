"""Reading of qrels and run files for scoring: runs in chunks where possible, others as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trectools_plus.distributed import current_workers
from trectools_plus.errors import CheckFailedError, InputError, UsageError, raise_all
from trectools_plus.formats.files.opening import can_be_read_twice
from trectools_plus.formats.interchange.names import (
    ColumnNames,
    columns_for_qrels,
    columns_for_run,
)
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.judged import Grades, Judgments
from trectools_plus.measures.scoring.scores import (
    IdMismatchError,
    ScoredFile,
    depend_on_grades_only,
    score_file,
    score_view,
)
from trectools_plus.progress import Progress, no_progress
from trectools_plus.validation.findings import Finding, Severity, notes_on_findings
from trectools_plus.validation.loading import RunLoader, open_runs, open_valid_qrels
from trectools_plus.validation.parts import NotInPartsError, SplitQueryError
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView

if TYPE_CHECKING:
    from trectools_plus.formats.tables import Qrels, Run

    OpenedRun = tuple[Run | ScoredFile, tuple[Finding, ...]]
    """A run that was read or scored, and its findings that do not block scoring."""


class OpenedFiles(NamedTuple):
    """Files that are ready for :func:`~trectools_plus.measures.evaluation.score_runs`.

    Attributes:
        qrels: The judgments; only their grades if all runs are scored.
        runs: The runs, read or already scored, in the order given.
        notes: Notes on the findings that change no figure.
    """

    qrels: Qrels | Grades
    runs: Sequence[Run | ScoredFile]
    notes: list[str]


def open_files(
    qrels: str,
    runs: Sequence[str],
    measures: Sequence[Measure],
    *,
    low_memory: bool = False,
    strict_input: bool = False,
    columns: ColumnNames | None = None,
    progress: Progress = no_progress,
) -> OpenedFiles:
    """Read qrels and run files, and refuse those whose figures would be wrong or ambiguous.

    Runs are scored while they are read, if the measures depend on grades only. Inside
    :func:`~trectools_plus.distributed.use_scheduler`, workers read and score the runs.

    Args:
        qrels: The judgments, a file or an address; ``-`` is standard input.
        runs: The runs, in the same way.
        measures: The measures to compute, each once.
        low_memory: Read every run in chunks.
        strict_input: Refuse every error, also those that change no figure.
        columns: The columns of some fields in tables.
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
    if low_memory:
        require_grades_only(measures)
        if columns is not None:
            raise UsageError(
                "--low-memory reads only TREC form",
                where="--columns",
                remedy="leave one of them out, or convert the run: runs convert",
            )
    judged, of_qrels = open_valid_qrels(
        qrels, strict_input=strict_input, columns=columns_for_qrels(columns)
    )
    opener = RunOpener(tuple(measures), low_memory, strict_input, columns_for_run(columns))
    scored: dict[str, list[OpenedRun]] = {}
    if (workers := current_workers()) is not None:
        from trectools_plus.measures.scoring.distributed import score_on_workers

        scored = score_on_workers(workers, runs, judged.table(qrels), opener, progress)
        progress = no_progress
    judgments = Judgments.of_view(judged)

    def open_run(path: str) -> list[OpenedRun]:
        return scored[path] if path in scored else opener.open(path, judged, judgments)

    opened = _open_each(runs, open_run, progress)
    of_runs = [finding for _, findings in opened for finding in findings]
    notes = notes_on_findings(of_runs, of_qrels)
    found = [run for run, _ in opened]
    all_scored = all(isinstance(run, ScoredFile) for run in found)
    return OpenedFiles(judgments if all_scored else judged.table(qrels), found, notes)


@dataclass(frozen=True)
class RunOpener:
    """Opens runs: scores them, or reads them if a measure depends on document ids.

    Attributes:
        measures: The measures to compute, each once.
        low_memory: Read every run in chunks.
        strict_input: Refuse every error, also those that change no figure.
        columns: The columns of some fields in tables.
    """

    measures: tuple[Measure, ...]
    low_memory: bool
    strict_input: bool
    columns: ColumnNames | None = None

    def open(self, path: str, qrels: QrelsView, judgments: Judgments) -> list[OpenedRun]:
        """Open a run, or each run of a table of several systems.

        Args:
            path: The file.
            qrels: The judgments.
            judgments: The same.
        """
        is_scored = depend_on_grades_only(self.measures)
        if is_scored and self.columns is None:
            try:
                return [self._score_in_parts(path, judgments)]
            except NotInPartsError:
                pass
        accepts_unjudged = any(measure.sees_unjudged for measure in self.measures)
        loader = RunLoader(qrels, accepts_unjudged=accepts_unjudged, strict_input=self.strict_input)
        opened: list[OpenedRun] = []
        for name, view in open_runs(path, self.columns):
            if self.low_memory and view.is_arranged:
                raise _not_in_trec_form(view)
            if is_scored:
                findings = loader.check(view)
                run = score_view(view, name, judgments, self.measures)
                opened.append((run, findings))
            else:
                opened.append(loader.load(view, name))
        return opened

    def _score_in_parts(self, path: str, judgments: Judgments) -> OpenedRun:
        """Score a run without its rows in memory.

        Raises:
            NotInPartsError: If it must be read as a whole.
        """
        score = partial(score_file, path, judgments, self.measures, strict_input=self.strict_input)
        if self.low_memory:
            _require_regular_file(path)
        try:
            try:
                scored, findings = score()
            except SplitQueryError:
                if not self.low_memory:
                    raise
                scored, findings = score(regroup=True)
        except IdMismatchError:
            if not self.low_memory:
                raise
            raise CheckFailedError(
                "its query or document ids differ from those of the qrels, perhaps only in "
                "spelling",
                where=path,
                remedy=f"see: trectools-plus runs validate {path} --qrels QRELS",
            ) from None
        return scored, tuple(findings)


def _require_regular_file(path: str) -> None:
    """Refuse standard input and pipes, which cannot be read twice."""
    if not can_be_read_twice(path) and (path == "-" or Path(path).exists()):
        raise UsageError(
            "is not a regular file, and --low-memory reads it more than once",
            where=path,
            remedy="write it to a file first",
        )


def _not_in_trec_form(view: RunView) -> UsageError:
    assert view.columns is not None
    assert view.columns.origin is not None
    return UsageError(
        f"--low-memory reads only TREC form, and this is {view.columns.origin.format}",
        where=view.path,
        remedy=f"leave it out, or convert the run: runs convert {view.path} --output run.txt",
    )


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


def require_grades_only(measures: Sequence[Measure]) -> None:
    """Refuse a measure that depends on document ids, because it needs a whole run.

    Raises:
        UsageError: If there is one.
    """
    for measure in measures:
        if not depend_on_grades_only([measure]):
            raise UsageError(
                f"{measure.name} depends on document ids and needs the whole run in memory",
                where="--low-memory",
                remedy="leave out the option or the measure",
            )
