"""Scores of rankings, and judged documents of run files that are read in parts of whole queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.query_chunks import iter_query_chunks
from trectools_plus.measures.definitions.base import FloatArray, Measure
from trectools_plus.measures.judged import JudgedPart, JudgedQueries, JudgedRun
from trectools_plus.validation.engine import check_pair_view, check_view
from trectools_plus.validation.findings import Finding
from trectools_plus.validation.parts import (
    NotInPartsError,
    ViewSettings,
    read_in_parts,
)
from trectools_plus.validation.registry import DEFAULT_MAX_DEPTH, JUDGED_CUTOFF
from trectools_plus.validation.views.id_matching import near_matches
from trectools_plus.validation.views.pairs import PairView, near_places
from trectools_plus.validation.views.places import N_SHOWN_IDS, PairFacts
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


def find_facts(view: RunView, qrels: JudgedQueries, part: JudgedPart) -> PairFacts:
    """Return what the rules on documents need to know of a run, or of a part of one."""
    of_judged, of_row = part.lengths[part.number >= 0], part.number[view.blocks.query]
    spelled, others = qrels.other_spellings(of_row, view.doc_ids, part.rows)
    has_judged = len(part.rows) > 0
    first = np.flatnonzero(of_row >= 0)[:N_SHOWN_IDS]
    theirs = qrels.doc_ids.text(int(others[0])) if len(others) else ""
    return PairFacts(
        n_documents=int(of_judged.sum()),
        n_judged=len(part.rows),
        n_shown=int(np.minimum(of_judged, JUDGED_CUTOFF).sum()),
        n_judged_shown=int(np.count_nonzero(part.ranks <= JUDGED_CUTOFF)),
        n_common=len(part.rows) or int(qrels.has_any(view.doc_ids)),
        unjudged=() if has_judged else tuple(view.doc_ids.take(first).texts()),
        near=near_places(view, spelled, theirs),
    )


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
        part = self.qrels.look_up(view, self.precision, self.depth)
        return find_facts(view, self.qrels, part), self.use(part)


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
    counts = run.pair_facts
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
