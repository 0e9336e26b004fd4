"""Reading of qrels and run files for scoring, as a whole or in chunks, whichever is faster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from trectools_plus.distributed import current_workers
from trectools_plus.errors import UsageError
from trectools_plus.measures.scoring.chunks import ScoredFile
from trectools_plus.measures.scoring.clean import load_clean_qrels, score_clean_file
from trectools_plus.measures.scoring.ranking import depend_on_grades_only
from trectools_plus.progress import Progress, no_progress
from trectools_plus.validation.findings import Finding, Severity, notes_on_findings

if TYPE_CHECKING:
    from trectools_plus.formats.interchange.names import ColumnNames
    from trectools_plus.formats.tables import Qrels, Run
    from trectools_plus.measures.definitions.base import Measure
    from trectools_plus.measures.judged import Grades


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

    Clean files are scored while they are read. Inside
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
    scored: dict[str, ScoredFile] = {}
    judged = None
    may_be_clean = not low_memory and columns is None and current_workers() is None
    if may_be_clean and depend_on_grades_only(measures):
        judged = load_clean_qrels(qrels)
    if judged is not None:
        for done, path in enumerate(dict.fromkeys(runs)):
            progress("scoring", done, len(runs))
            found = score_clean_file(path, judged, measures)
            if found is not None and not (strict_input and has_errors(found.findings)):
                scored[path] = found
    if judged is None or scored.keys() != {*runs}:
        from trectools_plus.measures.scoring.reading import FileReader

        reader = FileReader(measures, low_memory, strict_input, columns)
        return reader.open_files(qrels, runs, scored, progress)
    progress("scoring", len(runs), len(runs))
    opened = [scored[path] for path in runs]
    of_runs = [finding for run in opened for finding in run.findings]
    return OpenedFiles(judged.grades, opened, notes_on_findings(of_runs, judged.findings))


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
