"""Scores of rankings, and of run files that are read in parts of whole queries or as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.files.opening import can_be_read_twice
from trectools_plus.formats.interchange.names import ColumnNames
from trectools_plus.formats.query_chunks import iter_query_chunks
from trectools_plus.measures.definitions.base import FloatArray, Measure
from trectools_plus.measures.judged import (
    IntArray,
    JudgedQueries,
    JudgedRun,
)
from trectools_plus.validation.engine import check_pair_view, check_view
from trectools_plus.validation.findings import Finding, refuse_errors
from trectools_plus.validation.loading import RunLoader, open_runs
from trectools_plus.validation.parts import (
    NotInPartsError,
    ViewSettings,
    read_in_parts,
)
from trectools_plus.validation.registry import DEFAULT_MAX_DEPTH, JUDGED_CUTOFF
from trectools_plus.validation.views.facts import N_SHOWN_IDS, JudgedCounts, PairFacts
from trectools_plus.validation.views.id_matching import near_matches
from trectools_plus.validation.views.pairs import PairView, near_places
from trectools_plus.validation.views.runs import RunView

if TYPE_CHECKING:
    from trectools_plus.formats.ranking import ScorePrecision
    from trectools_plus.formats.tables import Run


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
    documents = None if depend_on_grades_only(measures) else (queries, queries.rank(run))
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
    without_results = [measure.value_without_results for measure in measures]
    return np.where(run.retrieved[:, None] > 0, score_by_class(measures, run), without_results)


def score_by_class(measures: Sequence[Measure], run: JudgedRun) -> FloatArray:
    """Score a run, the measures of a class together.

    Args:
        measures: The measures, each once.
        run: The run.

    Returns:
        Array of shape (queries, measures); values of queries without results are meaningless.
    """
    groups: dict[type[Measure], list[int]] = {}
    for position, measure in enumerate(measures):
        groups.setdefault(type(measure), []).append(position)
    table = np.empty((len(run.retrieved), len(measures)))
    for kind, positions in groups.items():
        columns = kind.score_together([measures[position] for position in positions], run)
        table[:, positions] = np.transpose(columns)
    return table


def depend_on_grades_only(measures: Iterable[Measure]) -> bool:
    """Return whether all measures depend only on the content of a :class:`JudgedRun`."""
    return not any(measure.sees_documents for measure in measures)


def accept_unjudged(measures: Iterable[Measure]) -> bool:
    """Return whether a measure can score a run without judged documents."""
    return any(measure.sees_unjudged for measure in measures)


def deepest_rank_needed(measures: Sequence[Measure]) -> int | None:
    """Return the deepest rank that measures of grades and ranks need; ``None`` for all ranks."""
    depths = [one.cutoff for one in measures if not one.sees_documents]
    return None if None in depths else max((depth or 0 for depth in depths), default=1)


SETTINGS = ViewSettings(DEFAULT_MAX_DEPTH, for_scoring=True)
"""How the views of runs that are scored are made."""

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class JudgedPart:
    """The ranks of judged documents in a run, or in a part of one.

    Attributes:
        number: For each query, its number in the qrels; -1 if it is not judged.
        lengths: For each query, its number of documents.
        judgments: The judgments of retrieved documents.
        ranks: The rank of each of these documents.
        facts: What the rules on documents need to know of them.
    """

    number: IntArray
    lengths: IntArray
    judgments: IntArray
    ranks: IntArray
    facts: PairFacts

    def judged_run(self, qrels: JudgedQueries) -> tuple[IntArray, JudgedRun]:
        """Return the numbers of the judged queries, and the ranks of their judged documents."""
        known = np.flatnonzero(self.number >= 0)
        numbers = self.number[known]
        return numbers, qrels.judged_run(numbers, self.lengths[known], self.judgments, self.ranks)


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
    def of_parts(
        cls, run: RunView, name: str, parts: Sequence[JudgedPart], qrels: JudgedQueries
    ) -> JudgedFile:
        """Join the parts of a run."""
        judged = qrels.place((one.number, one.lengths, one.judgments, one.ranks) for one in parts)
        return cls(name, run.path, run.query_ids, judged)


def judge_view(
    view: RunView,
    qrels: JudgedQueries,
    *,
    precision: ScorePrecision = 32,
    depth: int | None = None,
) -> JudgedPart:
    """Look up the judged documents of a run, or of a part of one.

    Args:
        view: The run, or the part.
        qrels: The judgments.
        precision: The number of bits in which scores are compared.
        depth: The deepest rank down to which judged documents are needed; ``None`` for all.
    """
    number = qrels.number(view.query_ids)
    rows = _rows_to_look_up(view, qrels, number, depth)
    is_whole = len(rows) == view.n_rows
    query = number[view.blocks.query if is_whole else view.blocks.query[rows]]
    doc_ids = view.doc_ids if is_whole else view.doc_ids.take(rows)
    places, judgments = qrels.find_pairs(query, doc_ids)
    ranks = view.evaluated_ranks(rows[places], precision)
    lengths = view.blocks.sizes
    of_judged = lengths[number >= 0]
    has_judged = len(judgments) > 0
    of_row = query if is_whole else number[view.blocks.query]
    spelled, others = qrels.other_spellings(of_row, view.doc_ids, rows[places])
    counts = JudgedCounts(
        n_documents=int(of_judged.sum()),
        n_judged=len(judgments),
        n_shown=int(np.minimum(of_judged, JUDGED_CUTOFF).sum()),
        n_judged_shown=int(np.count_nonzero(ranks <= JUDGED_CUTOFF)),
        n_other_spellings=len(spelled),
        has_common_documents=has_judged or qrels.has_any(view.doc_ids),
        unjudged=() if has_judged else doc_ids.texts(slice(N_SHOWN_IDS)),
    )
    theirs = qrels.doc_ids.text(int(others[0])) if len(others) else ""
    facts = PairFacts(counts, near_places(view, spelled, theirs))
    return JudgedPart(number, lengths, judgments, ranks, facts)


def _rows_to_look_up(
    view: RunView, qrels: JudgedQueries, number: IntArray, depth: int | None
) -> IntArray:
    """Return the rows of judged queries, only down to ``depth`` if the result is the same."""
    grouped = view.grouped
    is_ranked = depth is not None and grouped.row is None and grouped.scores_fall
    if depth is not None and is_ranked and qrels.has_unified_ids:
        rows = grouped.first_places(depth)
    else:
        rows = np.arange(view.n_rows)
    if (number < 0).any():
        rows = rows[number[view.blocks.query[rows]] >= 0]
    return rows


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

    def __call__(self, view: RunView) -> tuple[PairFacts | None, _T | None]:
        """Return the facts, and the result; ``None`` if an error leaves no ranking."""
        if not np.isfinite(view.score).all() or len(view.repeats):
            return None, None
        judged = judge_view(view, self.qrels, precision=self.precision, depth=self.depth)
        return judged.facts, self.use(judged)

    def join(self, run: RunView, results: Sequence[_T | None]) -> tuple[list[Finding], list[_T]]:
        """Return the findings on a run and its ids, and the results for its parts.

        There are no results if a finding blocks scoring.

        Args:
            run: The run.
            results: The results for its parts, in order.

        Raises:
            NotInPartsError: If the whole run must be read, also to compare its ids.
        """
        run.other_query_ids = frozenset(self.qrels.query_ids)
        findings = check_view(run)
        if any(finding.blocks_scoring for finding in findings):
            return findings, []
        found = [result for result in results if result is not None]
        if len(found) < len(results):
            raise NotInPartsError
        counts = run.pair_facts.judged
        if not counts.n_documents or not counts.has_common_documents:
            raise NotInPartsError
        if counts.n_other_spellings > counts.n_judged:
            raise NotInPartsError
        if near_matches(run.query_ids, self.qrels.query_ids):
            raise NotInPartsError
        return findings + check_pair_view(PairView(run, self.qrels.view)), found


def judge_file(path: str, judge: PartJudge[_T]) -> tuple[RunView, list[Finding], list[_T]]:
    """Look up the judged documents of a run file in parts; see :meth:`PartJudge.join`.

    Args:
        path: The run.
        judge: Looks up the documents of each part.

    Raises:
        NotInPartsError: If the whole file must be read, also to report an error.
    """
    if not can_be_read_twice(path):
        raise NotInPartsError
    try:
        view, results = read_in_parts(path, iter_query_chunks(path), SETTINGS, judge)
    except TrectoolsPlusError as error:  # for example, a damaged stream
        raise NotInPartsError from error
    findings, used = judge.join(view, results)
    return view, findings, used


if TYPE_CHECKING:
    OpenedRun = tuple[Run | JudgedFile, tuple[Finding, ...]]
    """A run that was read, and its findings that do not block scoring."""


def _same(part: JudgedPart) -> JudgedPart:
    return part


@dataclass(frozen=True)
class RunOpener:
    """Opens runs: finds judged documents, or reads all if a measure depends on document ids.

    Attributes:
        measures: The measures to compute, each once.
        strict_input: Refuse every error, also those that change no figure.
        columns: The columns of some fields in tables.
        as_tables: Read every run, whatever the measures.
    """

    measures: tuple[Measure, ...]
    strict_input: bool
    columns: ColumnNames | None = None
    as_tables: bool = False

    def open(self, path: str, qrels: JudgedQueries) -> list[OpenedRun]:
        """Open a run, or each run of a table of several systems.

        Args:
            path: The file.
            qrels: The judgments.

        Raises:
            FindingsError: If the run has errors that block scoring.
        """
        depth = deepest_rank_needed(self.measures)
        judge = PartJudge(qrels, _same, depth=None if depth is None else max(depth, JUDGED_CUTOFF))
        is_judged = depend_on_grades_only(self.measures) and not self.as_tables
        if is_judged and self.columns is None:
            try:
                view, of_file, parts = judge_file(path, judge)
                refuse_errors(of_file, strict_input=self.strict_input)
                return [(JudgedFile.of_parts(view, view.tag, parts, qrels), tuple(of_file))]
            except NotInPartsError:
                pass
        loader = RunLoader(qrels.view, accept_unjudged(self.measures), self.strict_input)
        opened: list[OpenedRun] = []
        for name, view in open_runs(path, self.columns):
            if is_judged:
                findings = loader.check(view)
                part = judge_view(view, qrels, depth=judge.depth)
                opened.append((JudgedFile.of_parts(view, name, [part], qrels), findings))
            else:
                opened.append(loader.load(view, name))
        return opened
