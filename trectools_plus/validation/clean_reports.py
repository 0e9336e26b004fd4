"""Reports on clean runs, which are read once, in chunks, with NumPy alone.

A clean run has no findings, or only some on ids, on its depth and on few judged documents. For
findings on ids, their lines are collected, and the rules check these lines alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.clean.judged import JudgedIds
from trectools_plus.formats.clean.qrels import scan_qrels
from trectools_plus.formats.clean.run import Ties, scan_run
from trectools_plus.formats.clean.words import Rows
from trectools_plus.formats.files.compression import SUFFIXES
from trectools_plus.formats.files.limits import max_content_bytes
from trectools_plus.formats.files.opening import can_be_read_twice, file_size, is_plain_file
from trectools_plus.formats.files.source import read_source
from trectools_plus.formats.query_chunks import Chunk, iter_query_chunks
from trectools_plus.processes import map_in_processes
from trectools_plus.validation.clean import RunFacts, rows_by_rule
from trectools_plus.validation.findings import FileReport, Finding
from trectools_plus.validation.limits import JUDGED_CUTOFF, MIN_JUDGED

_CHUNK_BYTES = 1 << 20
_BYTES_PER_PROCESS = 4 << 20
"""The smallest share of a file for which another process saves time."""
_MAX_LINES = 10_000
"""The greatest number of lines with findings in a chunk; the rules check more of them faster."""

_T = TypeVar("_T")


class _NotCleanError(Exception):
    """A chunk is not clean."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with a finding.

    Attributes:
        code: The rule.
        row: The number of the row in its chunk, from 0.
        text: The line, without its end.
    """

    code: str
    row: int
    text: bytes


@dataclass(frozen=True, slots=True)
class _Checked:
    """A chunk that has been checked.

    Attributes:
        facts: The facts about its rows.
        sizes: The number of rows of each query.
        lines: Its lines with findings.
        n_shown: The number of rows in the first ``JUDGED_CUTOFF`` of each query.
        n_judged: The number of these rows with a judged document.
    """

    facts: RunFacts
    sizes: Rows
    lines: list[_Line]
    n_shown: int = 0
    n_judged: int = 0


@dataclass(frozen=True, slots=True)
class _Described:
    """Facts about a chunk.

    Attributes:
        facts: The facts that rules need.
        tag: The tag.
        sizes: The number of rows of each query.
        lowest: The lowest score.
        highest: The highest score.
        ties: The ties.
        ranks_follow_scores: Whether the order of evaluation is that of the ranks.
    """

    facts: RunFacts
    tag: str
    sizes: Rows
    lowest: float
    highest: float
    ties: Ties
    ranks_follow_scores: bool


def load_judged_ids(path: str | Path) -> JudgedIds | None:
    """Read qrels to compare runs with; return ``None`` if they are not clean, or unreadable."""
    if not _is_plain(path):
        return None
    try:
        qrels = scan_qrels(read_source(path).data)
    except TrectoolsPlusError:  # the slower code reports it
        return None
    return None if qrels is None else JudgedIds.of(qrels)


def describe_clean_run(path: str) -> dict[str, Any] | None:
    """Return the fields of :class:`~trectools_plus.retrieval.RunInfo` of a run as JSON values.

    Args:
        path: The run, as the user named it.

    Returns:
        ``None`` if the run is not clean, or not a regular file.
    """

    def read(chunk: Chunk) -> _Described:
        run = scan_run(chunk())
        if run is None:
            raise _NotCleanError
        rows = np.arange(run.n_rows)
        follow = bool((run.ranks(rows) == rows - run.starts[run.query] + 1).all())
        lowest, highest = float(run.scores.min()), float(run.scores.max())
        facts = RunFacts.of(run)
        return _Described(facts, run.tag, run.lengths, lowest, highest, run.ties, follow)

    chunks = _map_chunks(path, read)
    facts = RunFacts.joined(chunk.facts for chunk in chunks or ())
    if not chunks or facts.has_split_query:
        return None
    sizes = np.concatenate([chunk.sizes for chunk in chunks])
    n_ties = sum(chunk.ties.n_ties for chunk in chunks)
    return {
        "path": path,
        "tag": chunks[0].tag,
        "queries": len(sizes),
        "rows": facts.n_rows,
        "depth": {
            "min": int(sizes.min()),
            "median": float(np.median(sizes)),
            "max": int(sizes.max()),
        },
        "lowest_score": min(chunk.lowest for chunk in chunks),
        "highest_score": max(chunk.highest for chunk in chunks),
        "ties_64": n_ties,
        "ties_32": n_ties + sum(chunk.ties.n_in_32_bits for chunk in chunks),
        "first_rank": min(facts.first_ranks),
        "ranks_follow_scores": all(chunk.ranks_follow_scores for chunk in chunks),
        "rows_follow_ranks": True,
    }


def validate_clean_run(
    path: str | Path,
    *,
    qrels: JudgedIds | None = None,
    max_depth: int | None,
    max_tag_length: int,
) -> FileReport | None:
    """Check a run with all rules that are on by default.

    Args:
        path: The run, as the user named it.
        qrels: The judgments to compare its ids with.
        max_depth: Results allowed per query; ``None`` for no limit.
        max_tag_length: Characters allowed in the run tag.

    Returns:
        The report; ``None`` if the rules must read the whole run, which may not be readable.
    """

    def check(chunk: Chunk) -> _Checked:
        return _check(chunk(), qrels)

    checked = _map_chunks(path, check)
    if checked is None:
        return None
    return _report(str(path), checked, qrels, max_depth, max_tag_length)


def _map_chunks(path: str | Path, use: Callable[[Chunk], _T]) -> list[_T] | None:
    """Call a function with each chunk of a run, in this process or in copies of it.

    Returns:
        The results, in the order of the file; ``None`` if the run is not a regular file, or a chunk
        is not clean.
    """
    if not _is_plain(path):
        return None
    try:
        n_bytes = file_size(path)
        if n_bytes > max_content_bytes():
            return None
        chunks = list(iter_query_chunks(path, _CHUNK_BYTES))
        n_processes = max(1, n_bytes // _BYTES_PER_PROCESS)
        return map_in_processes(use, chunks, max_processes=n_processes)
    except (_NotCleanError, TrectoolsPlusError):
        return None


def _is_plain(path: str | Path) -> bool:
    """Return whether a path is that of a regular file that is not compressed."""
    if str(path) == "-" or Path(path).suffix.lower() in SUFFIXES:
        return False
    try:
        return can_be_read_twice(path) and is_plain_file(path)
    except TrectoolsPlusError:
        return False


def _check(data: bytes, qrels: JudgedIds | None) -> _Checked:
    """Check a chunk.

    Raises:
        _NotCleanError: If it is not clean, a query is not judged, or a document is judged in
            another spelling.
    """
    run = scan_run(data)
    if run is None or not run.layout.every_line_is_a_row:
        raise _NotCleanError
    found = rows_by_rule(run)
    if sum(map(len, found.values())) > _MAX_LINES:
        raise _NotCleanError
    texts = data.split(b"\n") if found else []
    lines = [_Line(code, row, texts[row]) for code, rows in found.items() for row in rows.tolist()]
    checked = _Checked(RunFacts.of(run), run.lengths, lines)
    if qrels is None:
        return checked
    numbers = qrels.numbers(run.query_ids)
    if (numbers < 0).any() or not run.scores_fall:
        raise _NotCleanError
    judged = qrels.find(run, numbers, JUDGED_CUTOFF)
    if judged.n_other_spellings:
        raise _NotCleanError
    n_judged = np.count_nonzero(run.ranks(judged.rows) <= JUDGED_CUTOFF)
    n_shown = np.minimum(run.lengths, JUDGED_CUTOFF).sum()
    return replace(checked, n_shown=int(n_shown), n_judged=int(n_judged))


def _report(
    path: str,
    checked: Sequence[_Checked],
    qrels: JudgedIds | None,
    max_depth: int | None,
    max_tag_length: int,
) -> FileReport | None:
    """Return the report on a run, if no other rules have findings."""
    facts = RunFacts.joined(chunk.facts for chunk in checked)
    codes = {one.code for one in facts.findings(path, max_depth, max_tag_length)}
    if not checked or facts.has_split_query or not codes <= {"R161"}:
        return None
    judged = 1.0 if qrels is None else _share_judged(facts, checked, qrels)
    if judged is None:
        return None
    first_rows = accumulate((chunk.facts.n_rows for chunk in checked), initial=0)
    lines = [
        (line.code, first + line.row + 1, line.text)
        for first, chunk in zip(first_rows, checked, strict=False)
        for line in chunk.lines
    ]
    findings: Sequence[Finding] = ()
    if codes or lines or judged < MIN_JUDGED:
        # Only these findings need the rules and their tables.
        from trectools_plus.validation.single_lines import (
            check_lines,
            depth_finding,
            in_catalogue_order,
            judged_finding,
        )

        found = check_lines(path, lines)
        if found is None:
            return None
        if codes:
            sizes = np.concatenate([chunk.sizes for chunk in checked])
            assert max_depth is not None
            found.append(depth_finding(path, facts.query_ids, sizes, max_depth))
        if judged < MIN_JUDGED:
            found.append(judged_finding(path, judged))
        findings = in_catalogue_order(found)
    return FileReport(path, "run", facts.n_rows, len(facts.query_ids), tuple(findings))


def _share_judged(facts: RunFacts, checked: Sequence[_Checked], qrels: JudgedIds) -> float | None:
    """Return the share of judged documents in the first ``JUDGED_CUTOFF`` of all queries.

    Returns:
        ``None`` if it is 0, or if run and qrels do not have the same queries.
    """
    n_shown = sum(chunk.n_shown for chunk in checked)
    n_judged = sum(chunk.n_judged for chunk in checked)
    if not n_judged or set(facts.query_ids) != set(qrels.qrels.query_ids):
        return None
    return n_judged / n_shown
