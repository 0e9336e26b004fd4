"""Fixing a file: the steps in their order, and what keeps a file from being written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from trectools_plus.errors import FormatError
from trectools_plus.formats.rows import open_output
from trectools_plus.formats.source import read_source
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.validation.engine import DEFAULT_MAX_DEPTH, open_qrels, open_run
from trectools_plus.validation.findings import FileReport
from trectools_plus.validation.fixes import (
    lines,
    pair_ids,
    qrels_rows,
    run_fields,
    run_order,
    run_rows,
    run_scores,
)
from trectools_plus.validation.fixes.arguments import FixOptions, refuse_overwriting
from trectools_plus.validation.fixes.changes import iter_changes
from trectools_plus.validation.fixes.compressed import note_compression
from trectools_plus.validation.fixes.delimited import split_at_delimiter
from trectools_plus.validation.fixes.draft import Draft
from trectools_plus.validation.fixes.job import Job
from trectools_plus.validation.fixes.summary import FixSummary
from trectools_plus.validation.fixes.text import mend_bytes
from trectools_plus.validation.qrels_view import QrelsView
from trectools_plus.validation.run_view import RunView
from trectools_plus.validation.shape import wide_encoding

Step = Callable[[Draft, Job], Draft]

_MAX_ROUNDS = 5

# What makes a later step see more comes first: a step never makes work for one above it.
_RUN_STEPS: tuple[Step, ...] = (
    lines.tidy,
    lines.mend_narrow_run,
    lines.join_tags,
    run_fields.swap_q0,
    run_fields.write_points,
    run_fields.turn_scores,
    run_fields.write_q0,
    run_fields.write_tags,
    pair_ids.map_query_ids,
    pair_ids.map_document_ids,
    pair_ids.drop_self,
    run_rows.drop_repeats,
    run_scores.separate_scores,
    run_rows.cut_depth,
    run_order.order_rows,
)
_QRELS_STEPS: tuple[Step, ...] = (
    lines.tidy,
    lines.mend_narrow_qrels,
    qrels_rows.swap_grades,
    qrels_rows.write_whole_grades,
    pair_ids.map_query_ids,
    qrels_rows.merge_subtopics,
    qrels_rows.merge_judgments,
    qrels_rows.drop_negative_queries,
    qrels_rows.group_queries,
)


def fix_run(
    path: str | Path,
    output: str | Path,
    *,
    codes: Sequence[str] = (),
    max_depth: int | None = DEFAULT_MAX_DEPTH,
    options: FixOptions = FixOptions(),  # noqa: B008, it is frozen
    qrels: Qrels | QrelsView | str | Path | None = None,
) -> FixSummary:
    """Write a fixed copy of a run; the run itself is never touched.

    All safe fixes are applied, and those named. A safe fix leaves the ranking that evaluation
    sees as it is, and every field that it is not about as it was written. Fixing the output once
    more, with the same codes, gives the same bytes. What cannot be fixed is copied as it is, so
    validate the output too.

    Nothing is written if the file has no rows, is cut or of another format or kind, or holds
    bytes that are not text (not UTF-8 unless F103 is among the codes, NUL, single CRs).

    Args:
        path: The run; ``-`` is standard input.
        output: Where to write; its suffix says how it is compressed.
        codes: Fixes to apply beyond the safe ones, such as ``R108``.
        max_depth: For R161: results that stay of a query; ``None`` for all.
        options: Choices that some fixes need.
        qrels: For P104 and P106: judgments whose ids are taken over.

    Returns:
        What was done, what was held back, and the changes line by line.

    Raises:
        UsageError: If the output is the input, or a code has no fix for runs.
        InputError: If a file cannot be read, or the output cannot be written.
    """
    given = qrels if isinstance(qrels, str | Path) else None
    refuse_overwriting(output, (path, given))
    job = Job.of("run", codes, options, max_depth, _qrels_view(qrels))
    return _fix(path, output, job, _RUN_STEPS)


def fix_qrels(
    path: str | Path,
    output: str | Path,
    *,
    codes: Sequence[str] = (),
    options: FixOptions = FixOptions(),  # noqa: B008, it is frozen
    run: Run | RunView | str | Path | None = None,
) -> FixSummary:
    """Write a fixed copy of qrels; see :func:`fix_run`.

    Args:
        path: The qrels; ``-`` is standard input.
        output: Where to write; its suffix says how it is compressed.
        codes: Fixes to apply beyond the safe ones, such as ``Q142``.
        options: Choices that some fixes need.
        run: For P104: a run whose query ids are taken over.

    Raises:
        UsageError: If the output is the input, or a code has no fix for qrels.
        InputError: If a file cannot be read, or the output cannot be written.
    """
    given = run if isinstance(run, str | Path) else None
    refuse_overwriting(output, (path, given))
    job = Job.of("qrels", codes, options, other=_run_view(run))
    return _fix(path, output, job, _QRELS_STEPS)


def _fix(path: str | Path, output: str | Path, job: Job, steps: Sequence[Step]) -> FixSummary:
    summary = FixSummary(str(path), job.kind, None)
    try:
        source = read_source(path)
    except FormatError as error:
        return replace(summary, refused=error.what)
    text = mend_bytes(source.data, job)
    draft = Draft(str(path), job.kind, text, job.max_depth)
    why = _why_unreadable(draft)
    if why is None:
        draft = split_at_delimiter(draft, job)
        why = _why_refused(draft)
    if why is None:
        draft = _apply(draft, job, steps)
        why = _why_refused(draft)
    if why is not None:
        return replace(summary, refused=why, notes=tuple(job.notes))
    repacked = note_compression(source, output, job)
    with open_output(output) as stream:
        stream.write(draft.data)
    return replace(
        summary,
        output=str(output),
        applied=tuple(job.applied),
        notes=tuple(job.notes),
        repacked=repacked,
        lines_before=_count_lines(text),
        lines_after=_count_lines(draft.data),
        _changes=partial(iter_changes, source.data, text, draft.data, draft.origin),
    )


def _apply(draft: Draft, job: Job, steps: Sequence[Step]) -> Draft:
    """Apply the steps; again if any was asked for, until the file stays as it is.

    Safe fixes make no work for each other. Others may: without repeated documents, the scores of
    most queries may turn out to rise with rank.
    """
    for _ in range(_MAX_ROUNDS):
        before, n_notes = draft.data, len(job.notes)
        for step in steps:
            draft = step(draft, job)
        if not job.asked or draft.data == before:
            break
        del job.notes[n_notes:]  # the next round says what is still true
    return draft


def _why_unreadable(draft: Draft) -> str | None:
    """Why a file's lines are not known; ``None`` if they are."""
    columns = draft.view.columns
    assert columns is not None
    facts = columns.facts
    if wide_encoding(columns) or facts.bad_utf8:
        guess = facts.encoding_guess or "latin-1"
        return f"it is not UTF-8 ({guess.upper()}?), --fix F103 converts it"
    if facts.nul:
        return f"NUL byte on line {facts.nul.first}, which no program can mend (F106)"
    if facts.bare_cr:
        return f"single CR on line {facts.bare_cr.first}, a line end to some (F105)"
    return None


def _why_refused(draft: Draft) -> str | None:
    """Why a file is nothing to fix; ``None`` if it is."""
    shape = draft.view.shape
    if shape.verdict == "other-format":
        return f"{shape.format}, not columns separated by blanks (R103)"
    if shape.verdict == "wrong-kind":
        return "it is qrels (R104)" if draft.kind == "run" else "it is a run (Q104)"
    if shape.first_line is None:
        hashed = draft.strays.height
        return "all rows start with '#' (R112, Q112)" if hashed else "it has no rows (F101)"
    return None


def _count_lines(text: bytes) -> int:
    return text.count(b"\n") + (not text.endswith(b"\n"))


def _qrels_view(qrels: Qrels | QrelsView | str | Path | None) -> QrelsView | None:
    """The judgments, as far as their ids can be read."""
    if qrels is None or isinstance(qrels, QrelsView):
        return qrels
    view = QrelsView.of_table(qrels) if isinstance(qrels, Qrels) else open_qrels(qrels)
    return None if isinstance(view, FileReport) else view


def _run_view(run: Run | RunView | str | Path | None) -> RunView | None:
    if run is None or isinstance(run, RunView):
        return run
    view = RunView.of_table(run) if isinstance(run, Run) else open_run(run, None)
    return None if isinstance(view, FileReport) else view
