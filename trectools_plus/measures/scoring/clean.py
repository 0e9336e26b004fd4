"""Chunks of a clean run that NumPy reads: in this process and, for large files, in copies of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.clean.judged import JudgedIds
from trectools_plus.formats.clean.qrels import CleanQrels, scan_qrels
from trectools_plus.formats.clean.run import CleanRun, scan_run
from trectools_plus.formats.files.opening import can_be_read_twice, file_size, is_plain_file
from trectools_plus.formats.files.source import Source, read_source
from trectools_plus.formats.query_chunks import Chunk, iter_query_chunks
from trectools_plus.measures.judged import Grades
from trectools_plus.measures.scoring.chunks import (
    JudgedChunk,
    NotInChunksError,
    ScoredChunk,
    ScoredFile,
    deepest_rank_to_judge,
    join_chunks,
    score_chunk,
)
from trectools_plus.processes import map_in_processes
from trectools_plus.validation.clean import RunFacts, name_findings, qrels_findings

if TYPE_CHECKING:
    from trectools_plus.measures.definitions.base import Measure
    from trectools_plus.ranking import ScorePrecision
    from trectools_plus.validation.findings import Finding

_CHUNK_BYTES = 2 << 20
"""The approximate size of a chunk, which fits the CPU caches."""
_BYTES_PER_PROCESS = 4 << 20
"""The smallest share of a file for which starting a process saves time."""

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class CleanJudgments:
    """Clean qrels, with a hash table of the judged documents.

    Attributes:
        grades: The grades.
        ids: The documents.
        findings: The findings, none of which blocks scoring.
    """

    grades: Grades
    ids: JudgedIds
    findings: list[Finding]

    @classmethod
    def of(cls, qrels: CleanQrels, source: Source) -> CleanJudgments:
        """Use qrels that were read from ``source``."""
        grades = Grades(qrels.query_ids, qrels.relevance, qrels.starts)
        findings = name_findings(source.path, source.compression)
        return cls(grades, JudgedIds.of(qrels), findings + qrels_findings(source.path, qrels))


def load_clean_qrels(path: str | Path) -> CleanJudgments | None:
    """Read qrels; return ``None`` if they are not clean, or cannot be read twice."""
    if not can_be_read_twice(path):
        return None
    try:
        source = read_source(path)
        qrels = scan_qrels(source.data)
    except TrectoolsPlusError:  # the slower code reports it
        return None
    return None if qrels is None else CleanJudgments.of(qrels, source)


def score_clean_file(
    path: str | Path, qrels: CleanJudgments, measures: Sequence[Measure]
) -> ScoredFile | None:
    """Score a run file, if it is clean.

    Args:
        path: The run, compressed or not.
        qrels: The judgments.
        measures: The measures, each once, that all ``depend_on_grades_only``.

    Returns:
        The scores, equal to those of the whole run bit for bit; ``None`` if slower code has to read
        the file.
    """

    def score(chunk: JudgedChunk) -> ScoredChunk:
        return score_chunk(chunk, qrels.grades, measures)

    scored = map_clean_chunks(path, qrels, score, depth=deepest_rank_to_judge(measures))
    if scored is None:
        return None
    try:
        return join_chunks(str(path), scored, qrels.grades, measures)
    except NotInChunksError:
        return None


def map_clean_chunks(
    path: str | Path,
    qrels: CleanJudgments,
    use: Callable[[JudgedChunk], _T],
    *,
    precision: ScorePrecision = 32,
    depth: int | None = None,
) -> list[_T] | None:
    """Call a function with each chunk of a clean run, in this process or in copies of it.

    Args:
        path: The run, compressed or not.
        qrels: The judgments.
        use: Called with the ranks of judged documents; its results must be picklable.
        precision: The number of bits in which scores are compared.
        depth: The deepest rank down to which judged documents are needed; ``None`` for all.

    Returns:
        The results, in the order of the file; ``None`` if a chunk is not clean, or if there was an
        error, which slower code reports.
    """

    def work(chunk: Chunk) -> _T:
        run = scan_run(chunk())
        if run is None:
            raise NotInChunksError
        return use(_judge(run, qrels.ids, precision, depth))

    if not can_be_read_twice(path):
        return None
    try:
        chunks = iter_query_chunks(path, _CHUNK_BYTES)
        if not is_plain_file(path):
            return [work(chunk) for chunk in chunks]
        n_processes = max(1, file_size(path) // _BYTES_PER_PROCESS)
        return map_in_processes(work, list(chunks), max_processes=n_processes)
    except (NotInChunksError, TrectoolsPlusError):
        return None


def _judge(
    run: CleanRun, ids: JudgedIds, precision: ScorePrecision, depth: int | None
) -> JudgedChunk:
    """Look up the judged documents of a chunk."""
    number = ids.numbers(run.query_ids)
    found = ids.find(run, number, depth)
    has_common = len(found.judgments) > 0 or (depth is None and ids.has_any(run))
    return JudgedChunk(
        found=RunFacts.of(run),
        tags=(run.tag,),
        query_ids=run.query_ids,
        number=number,
        lengths=run.lengths,
        judgments=found.judgments,
        ranks=run.ranks(found.rows, precision),
        n_other_spellings=found.n_other_spellings,
        has_common_documents=has_common,
    )
