"""Scoring of qrels and run files: runs in chunks where possible, others as a whole; and their ties.

Inside :func:`~trectools_plus.distributed.use_scheduler`, workers read the runs. Judgments and
measures are sent to each worker once. Workers must have access to the files under the same path or
URL. The caller reads the remaining files and reports their errors, as without workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from trectools_plus.display import Progress, no_progress
from trectools_plus.distributed import Place, check_seen, current_workers, place_of
from trectools_plus.errors import (
    CheckFailedError,
    InputError,
    MissingExtraError,
    TrectoolsPlusError,
    raise_all,
)
from trectools_plus.formats.interchange.names import (
    ColumnNames,
    columns_for_qrels,
    columns_for_run,
)
from trectools_plus.formats.query_chunks import iter_query_chunks
from trectools_plus.measures.definitions.base import FloatArray, Measure
from trectools_plus.measures.judged import JudgedPart, JudgedQueries, JudgedRun
from trectools_plus.validation.engine import check_pair_view, check_view
from trectools_plus.validation.findings import (
    Finding,
    notes_on_findings,
    refuse_errors,
)
from trectools_plus.validation.loading import accept_run, open_single_run, open_valid_qrels
from trectools_plus.validation.parts import (
    NotInPartsError,
    ViewSettings,
    read_in_parts,
)
from trectools_plus.validation.registry import DEFAULT_MAX_DEPTH
from trectools_plus.validation.rules.pairs import JUDGED_CUTOFF, PairView, find_facts
from trectools_plus.validation.views.kinds import RunView, near_matches
from trectools_plus.validation.views.places import PairFacts, places_in_query

if TYPE_CHECKING:
    from trectools_plus.distributed.cluster import Cluster
    from trectools_plus.formats.ranking import ScorePrecision
    from trectools_plus.formats.tables import Qrels, Run
    from trectools_plus.measures.exclusions import Exclusions


OpenedRun: TypeAlias = "tuple[Run | JudgedFile, tuple[Finding, ...]]"
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
        is_judged = not (self.as_tables or any(one.sees_documents for one in self.measures))
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
        return JudgedFile.of(view, qrels, depth), findings

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
    notes = notes_on_findings([finding for _, findings in opened for finding in findings], of_qrels)
    opened_runs = [run for run, _ in opened]
    if exclude is not None:
        tables = [run for run in opened_runs if not isinstance(run, JudgedFile)]
        kept = [exclude.from_run(run) for run in tables]
        notes = [exclude.describe({run.path or run.name: run for run in tables}), *notes]
        return OpenedFiles(exclude.from_qrels(view.table(qrels)), kept, notes)
    all_scored = all(isinstance(run, JudgedFile) for run in opened_runs)
    return OpenedFiles(judged if all_scored else view.table(qrels), opened_runs, notes)


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


def find_judged(
    measures: Sequence[Measure], queries: JudgedQueries, run: Run | JudgedFile
) -> JudgedRun:
    """Return the ranks of judged documents, and all documents if a measure depends on their ids.

    Args:
        measures: The measures.
        queries: The queries and judgments.
        run: The run.
    """
    if isinstance(run, JudgedFile):
        return run.judged
    sees_documents = any(measure.sees_documents for measure in measures)
    documents = (queries, queries.rank(run)) if sees_documents else None
    return replace(queries.judge(run), documents=documents)


def score_judged(measures: Sequence[Measure], run: JudgedRun) -> FloatArray:
    """Score a run.

    Args:
        measures: The measures, each once.
        run: The run, with documents if a measure depends on their ids.

    Returns:
        Array of shape (queries, measures); ``nan`` where a measure is undefined. Queries without
        results have each measure's ``value_without_results``.

    Raises:
        UsageError: If a measure cannot score this input.
    """
    run = run.cut(deepest_rank_needed(measures))  # saves time
    groups: dict[type[Measure], list[int]] = {}
    for position, measure in enumerate(measures):
        groups.setdefault(type(measure), []).append(position)
    table = np.empty((len(run.retrieved), len(measures)))
    for kind, positions in groups.items():
        columns = kind.score_together([measures[position] for position in positions], run)
        table[:, positions] = np.transpose(columns)
    without_results = [measure.value_without_results for measure in measures]
    return np.where(run.retrieved[:, None] > 0, table, without_results)


def accept_unjudged(measures: Iterable[Measure]) -> bool:
    """Return whether a measure can score a run without judged documents."""
    return any(measure.sees_unjudged for measure in measures)


def deepest_rank_needed(measures: Sequence[Measure]) -> int | None:
    """Return the deepest rank that measures of grades and ranks need; ``None`` for all ranks."""
    depths = [measure.cutoff for measure in measures if not measure.sees_documents]
    return None if None in depths else max((depth or 0 for depth in depths), default=1)


SETTINGS = ViewSettings(DEFAULT_MAX_DEPTH, for_scoring=True)
"""How the views of runs that are scored are made."""

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class JudgedFile:
    """A run file whose judged documents have been found.

    Attributes:
        name: The run's tag.
        path: The file, as the user named it.
        query_ids: Its queries, in file order.
        judged: The ranks of the judged documents.
    """

    name: str
    path: str
    query_ids: list[str]
    judged: JudgedRun

    @classmethod
    def of(cls, view: RunView, qrels: JudgedQueries, depth: int | None = None) -> JudgedFile:
        """Find the judged documents of a whole run; see :meth:`JudgedQueries.look_up`."""
        ranks = qrels.place([qrels.look_up(view, depth=depth)])
        return cls(view.tag, view.path, view.query_ids, ranks)


@dataclass(frozen=True)
class PartJudge(Generic[_T]):
    """Looks up the judged documents of the parts of a run, and uses them.

    Attributes:
        qrels: The judgments.
        use: Called with the judged documents; its results must be picklable.
        precision: The number of bits in which scores are compared.
        depth: The deepest rank down to which judged documents are needed; ``None`` for all.
    """

    qrels: JudgedQueries
    use: Callable[[JudgedPart], _T]
    precision: ScorePrecision = 32
    depth: int | None = None

    def __call__(self, view: RunView) -> _T | None:
        """Return the result; ``None`` if an error leaves no ranking."""
        if not np.isfinite(view.score).all() or len(view.repeats):
            return None
        part = self.qrels.look_up(view, self.precision, self.depth)
        view.pair_facts = find_facts(view, self.qrels.view, part.number, part.rows, part.ranks)
        return self.use(part)


def judge_file(path: str, judge: PartJudge[_T]) -> tuple[RunView, list[Finding], list[_T]]:
    """Look up the judged documents of a run file in parts.

    Args:
        path: The run.
        judge: Looks up the documents of each part.

    Returns:
        The run, the findings on it and its ids, and the results for its parts in order; no results
        if a finding blocks scoring.

    Raises:
        NotInPartsError: If the whole file must be read, also to report an error or to compare ids.
    """
    if not Path(path).is_file():  # for example a pipe, which cannot be read twice
        raise NotInPartsError
    try:
        run, results = read_in_parts(path, iter_query_chunks(path), SETTINGS, judge)
    except TrectoolsPlusError as error:  # for example, a damaged stream
        raise NotInPartsError from error
    query_ids = judge.qrels.query_ids
    run.other_query_ids = frozenset(query_ids)
    findings = check_view(run)
    if any(finding.blocks_scoring for finding in findings):
        return run, findings, []
    used = [result for result in results if result is not None]
    counts = run.pair_facts or PairFacts()
    if (
        len(used) < len(results)
        or not counts.n_documents
        or not counts.n_common
        or counts.near.count > counts.n_judged
        or near_matches(run.query_ids, query_ids)
    ):
        raise NotInPartsError
    return run, findings + check_pair_view(PairView(run, judge.qrels.view)), used


def same(part: JudgedPart) -> JudgedPart:
    """Return a part as it is; for :class:`PartJudge`."""
    return part


@dataclass(frozen=True, slots=True)
class Ties:
    """The ties of a run, in 32 bits (trec_eval 9, pytrec_eval and this package).

    Attributes:
        pairs: Pairs of adjacent documents in the ranking with equal scores.
        pairs_64: Those that are equal in 64 bits too, as in trec_eval 10.
        queries: Queries with at least one tie.
        straddling: For each cutoff k, the number of queries in which the documents at ranks k and
            k + 1 are tied, so that document ids decide which one is in the first k.
    """

    pairs: int
    pairs_64: int
    queries: int
    straddling: dict[int, int]


def count_ties(view: RunView, cutoffs: Sequence[int] = (10, 100)) -> Ties:
    """Count a run's ties.

    Args:
        view: The run.
        cutoffs: The ranks k for which queries with a tie of ranks k and k + 1 are counted.
    """
    scored = view.scored
    ties, score, query = scored.ties(32), scored.score, view.grouped.query
    ranks = places_in_query(query)[ties]  # of the first document of each pair
    return Ties(
        pairs=len(ties),
        pairs_64=int((score[ties] == score[ties - 1]).sum()),
        queries=len(np.unique(query[ties])),
        straddling={k: int((ranks == k).sum()) for k in cutoffs},
    )
