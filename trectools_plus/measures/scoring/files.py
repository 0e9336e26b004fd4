"""Reading of qrels and run files for scoring: runs in chunks where possible, others as a whole.

Workers of a scheduler score file by file, large files in chunks. Judgments and measures are sent to
each worker once. Workers read the run files, so they must have access to them under the same path
or URL. This process scores the remaining files and reports their errors, as without workers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trectools_plus.distributed import (
    Executor,
    Place,
    check_read,
    check_seen,
    current_workers,
    place_of,
)
from trectools_plus.errors import (
    CheckFailedError,
    InputError,
    MissingExtraError,
    UsageError,
    raise_all,
)
from trectools_plus.formats.files.opening import can_be_read_twice, file_size, is_plain_file
from trectools_plus.formats.interchange.names import (
    ColumnNames,
    columns_for_qrels,
    columns_for_run,
)
from trectools_plus.formats.query_chunks import Chunk, iter_query_chunks
from trectools_plus.measures.scoring.judgments import Judgments
from trectools_plus.measures.scoring.parts import (
    SETTINGS,
    IdMismatchError,
    PartJudge,
    ScoredFile,
    ScoredPart,
    judge_for,
    score_file,
    score_regrouped_file,
    score_view,
)
from trectools_plus.measures.scoring.ranking import depend_on_grades_only
from trectools_plus.progress import Progress, no_progress
from trectools_plus.validation.findings import Finding, Severity, notes_on_findings
from trectools_plus.validation.loading import RunLoader, open_runs, open_valid_qrels
from trectools_plus.validation.parts import (
    NotInPartsError,
    ReadPart,
    SplitQueryError,
    join_parts,
    read_part,
)
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView

if TYPE_CHECKING:
    from trectools_plus.formats.tables import Qrels, Run
    from trectools_plus.measures.definitions.base import Measure
    from trectools_plus.measures.judged import Grades

    Opened = tuple[Run | ScoredFile, tuple[Finding, ...]]
    """A run that was read or scored, and its findings that do not block scoring."""
    WorkerResult = list[Opened] | ReadPart[ScoredPart | None] | None
    """The runs of a file, or what is known of a chunk; ``None`` if the caller has to score it."""


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
    scored: dict[str, list[Opened]] = {}
    if (workers := current_workers()) is not None:
        scored = score_on_workers(workers, runs, judged.table(qrels), opener, progress)
        progress = no_progress
    judgments = Judgments.of_view(judged)

    def open_run(path: str) -> list[Opened]:
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

    def open(self, path: str, qrels: QrelsView, judgments: Judgments) -> list[Opened]:
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
        opened: list[Opened] = []
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

    def _score_in_parts(self, path: str, judgments: Judgments) -> Opened:
        """Score a run without its rows in memory.

        Raises:
            NotInPartsError: If it must be read as a whole.
        """
        if not self.low_memory:
            scored, findings = score_file(
                path, judgments, self.measures, strict_input=self.strict_input
            )
            return scored, tuple(findings)
        _require_regular_file(path)
        try:
            try:
                scored, findings = score_file(
                    path, judgments, self.measures, strict_input=self.strict_input
                )
            except SplitQueryError:
                scored, findings = score_regrouped_file(
                    path, judgments, self.measures, strict_input=self.strict_input
                )
        except IdMismatchError:
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
    paths: Sequence[str], open_run: Callable[[str], list[Opened]], progress: Progress
) -> list[Opened]:
    """Open every run, and report the errors of all runs together."""
    opened: list[Opened] = []
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


SPLIT_BYTES = 64 << 20
"""Run files larger than this are scored in chunks."""

CHUNK_BYTES = 16 << 20


@dataclass(frozen=True)
class WorkerPart:
    """A run file, or a chunk of one, for one worker.

    Attributes:
        path: The file as the user named it.
        place: The file as workers find it.
        chunk: The chunk to read; ``None`` for the whole file.
        is_first: Whether the file begins with it.
    """

    path: str
    place: Place
    chunk: Chunk | None = None
    is_first: bool = True


@dataclass(frozen=True)
class WorkerPartScorer:
    """Scores parts on a worker.

    Attributes:
        qrels: The judgments.
        opener: Opens a whole file.
    """

    qrels: Qrels
    opener: RunOpener

    @cached_property
    def view(self) -> QrelsView:
        """The judgments."""
        return QrelsView.of_table(self.qrels)

    @cached_property
    def judgments(self) -> Judgments:
        """The judgments with their hash table."""
        return Judgments.of_view(self.view)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for another process, without what was computed from them."""
        return {"qrels": self.qrels, "opener": self.opener}

    @cached_property
    def judge(self) -> PartJudge[ScoredPart]:
        """Scores the views of chunks."""
        return judge_for(self.judgments, self.opener.measures)

    def __call__(self, part: WorkerPart) -> WorkerResult:
        """Score a part; return ``None`` if the caller has to score the file.

        Raises:
            UsageError: If the file is missing here, is a different file, or cannot be read here.
        """
        check_seen(part.path, part.place)
        try:
            if part.chunk is not None:
                return read_part(
                    part.place.path, part.chunk, SETTINGS, self.judge, is_first=part.is_first
                )
            opened = self.opener.open(part.place.path, self.view, self.judgments)
            return [
                (
                    replace(run, path=part.path),
                    tuple(replace(finding, path=part.path) for finding in findings),
                )
                for run, findings in opened
            ]
        except NotInPartsError:
            return None
        except (CheckFailedError, InputError, MissingExtraError) as error:
            check_read(part.path, part.place, error)
            return None


def score_on_workers(
    workers: Executor,
    paths: Sequence[str],
    qrels: Qrels,
    opener: RunOpener,
    progress: Progress = no_progress,
) -> dict[str, list[Opened]]:
    """Score the run files that workers can read and that have no errors.

    Args:
        workers: The workers.
        paths: The run files, as the user named them.
        qrels: The judgments.
        opener: Scores or reads a whole file.
        progress: Receives the number of finished files, for the step ``scoring``.

    Returns:
        The results of ``opener`` by path. The caller has to open the files that are missing
        here: pipes, files with errors, and large files that are not clean.

    Raises:
        UsageError: If workers cannot find or read a file, or a measure cannot score this input.
        InputError: If the workers or the scheduler are lost.
    """
    scorer = WorkerPartScorer(qrels, opener)
    parts = [part for path in dict.fromkeys(paths) for part in _parts(path, opener.measures)]
    last_part = {part.path: number for number, part in enumerate(parts, 1)}
    ends = sorted(last_part.values())

    def report(n_parts: int) -> None:
        """Report the number of files completed with the first ``n_parts`` parts."""
        progress("scoring", bisect_right(ends, n_parts), len(ends))

    found: dict[str, list[WorkerResult]] = {}
    for part, result in zip(parts, workers.map(scorer, parts, report), strict=True):
        found.setdefault(part.path, []).append(result)
    opened: dict[str, list[Opened]] = {}
    for path, results in found.items():
        if isinstance(results[0], list):
            opened[path] = results[0]
        elif (joined := _join_parts(path, results, scorer)) is not None:
            opened[path] = [joined]
    return opened


def _parts(path: str, measures: Sequence[Measure]) -> Iterator[WorkerPart]:
    """Yield the parts of a file; none if only this process can read it."""
    place = place_of(path)
    if place is None:
        return
    if file_size(path) > SPLIT_BYTES and depend_on_grades_only(measures) and is_plain_file(path):
        for number, chunk in enumerate(iter_query_chunks(place.path, CHUNK_BYTES)):
            yield WorkerPart(path, place, chunk, is_first=number == 0)
    else:
        yield WorkerPart(path, place)


def _join_parts(
    path: str,
    results: Sequence[WorkerResult],
    scorer: WorkerPartScorer,
) -> Opened | None:
    """Join the chunks of a file; ``None`` if one could not be scored."""
    read = [result for result in results if isinstance(result, ReadPart)]
    if len(read) < len(results):
        return None
    try:
        run = join_parts(read, SETTINGS)
        run.path = path
        findings, scored = scorer.judge.join(run, [one.result for one in read])
    except NotInPartsError:
        return None
    if not scored:
        return None
    joined = ScoredFile.of_parts(run, run.tag, scored, scorer.judgments, scorer.opener.measures)
    return joined, tuple(findings)
