"""Fixing a file: the steps in their order, and what keeps a file from being written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from trectools_plus.errors import FormatError, UsageError
from trectools_plus.formats.files.source import read_source
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.formats.writing import open_output
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.draft import Draft, FixOptions, Job
from trectools_plus.validation.engine import DEFAULT_MAX_DEPTH, as_qrels_view, as_run_view
from trectools_plus.validation.findings import FileReport
from trectools_plus.validation.fixes.summary import FixSummary, iter_changes
from trectools_plus.validation.registry import Phase
from trectools_plus.validation.rules.file.compression import note_compression
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView
from trectools_plus.validation.views.shape import wide_encoding

_MAX_ROUNDS = 5
_CODE = re.compile(r"[FRQTP][0-9]{3}")


def split_fix_values(values: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Tell the output file from rule codes among the values of a repeated ``--fix``.

    A value is a list of codes if each of its comma-separated parts is one letter of F, R, Q, T, P
    and three digits, in either case. Everything else is a path; a file that is called like a code
    is written ``./R108``.

    Args:
        values: As the user gave them: ``["clean.run", "R108,R152"]``.

    Returns:
        The path to write, and the codes in upper case, each once.

    Raises:
        UsageError: Unless exactly one value is a path.
    """
    outputs: list[str] = []
    codes: dict[str, None] = {}
    for value in values:
        parts = [part.strip().upper() for part in value.split(",") if part.strip()]
        if parts and all(_CODE.fullmatch(part) for part in parts):
            codes.update(dict.fromkeys(parts))
        else:
            outputs.append(value)
    if len(outputs) != 1 or not outputs[0]:
        found = f"{len(outputs)} files to write" if outputs else "no file to write"
        raise UsageError(
            f"expected one file to write but got {found}",
            where="--fix",
            remedy="--fix OUT applies the safe fixes, --fix OUT --fix R108,R152 these two as well",
        )
    return outputs[0], tuple(codes)


def refuse_overwriting(output: str | Path, inputs: Iterable[str | Path | None]) -> None:
    """Refuse to write over a file that is read, under this or another name.

    Raises:
        UsageError: If the output is one of the inputs, or standard output.
    """
    if str(output) == "-":
        raise UsageError("a fixed file needs a name", where="--fix -", remedy="name a file")
    for given in inputs:
        if given is not None and str(given) != "-" and _is_same(given, output):
            raise UsageError(
                "would write over its own input",
                where=str(output),
                remedy="name another file; the input is never changed",
            )


def _is_same(left: str | Path, right: str | Path) -> bool:
    try:
        return Path(left).samefile(right)
    except (OSError, ValueError):  # one of them does not exist yet
        return os.path.realpath(left) == os.path.realpath(right)


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
    asked = frozenset(codes)
    view = as_qrels_view(qrels)
    other = None if isinstance(view, FileReport) else view
    job = Job(CATALOGUE, "run", asked, options, max_depth, other)
    return _fix(path, output, job)


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

    Returns:
        The fixes applied and not applied, and the changed lines.

    Raises:
        UsageError: If the output is the input, or a code has no fix for qrels.
        InputError: If a file cannot be read, or the output cannot be written.
    """
    given = run if isinstance(run, str | Path) else None
    refuse_overwriting(output, (path, given))
    view = as_run_view(run)
    other = None if isinstance(view, FileReport) else view
    job = Job(CATALOGUE, "qrels", frozenset(codes), options, other=other)
    return _fix(path, output, job)


def _fix(path: str | Path, output: str | Path, job: Job) -> FixSummary:
    summary = FixSummary(str(path), job.kind, None)
    try:
        source = read_source(path)
    except FormatError as error:
        return replace(summary, refused=error.what)
    text = fix_bytes(source.data, job)
    draft = Draft(str(path), job.kind, text, job.max_depth)
    why = _why_unreadable(draft)
    if why is None:
        draft = _apply_once(draft, job, "format")
        why = _why_refused(draft)
    if why is None:
        draft = _apply_rounds(draft, job)
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


def fix_bytes(data: bytes, job: Job) -> bytes:
    """Apply the steps that come before anything is known of columns.

    Raises:
        UsageError: If the encoding given is not known to Python.
    """
    for step in CATALOGUE.steps(job.kind, "bytes"):
        data = step.apply(data, job)
    return data


def _apply_once(draft: Draft, job: Job, phase: Phase) -> Draft:
    for step in CATALOGUE.steps(job.kind, phase):
        draft = step.apply(draft, job)
    return draft


def _apply_rounds(draft: Draft, job: Job) -> Draft:
    """Apply the steps; again if any was asked for, until the file stays as it is.

    Safe fixes make no work for each other. Others may: without repeated documents, the scores of
    most queries may turn out to rise with rank.
    """
    for _ in range(_MAX_ROUNDS):
        before, n_notes = draft.data, len(job.notes)
        draft = _apply_once(draft, job, "rows")
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
        hashed = draft.view.strays.height
        return "all rows start with '#' (R112, Q112)" if hashed else "it has no rows (F101)"
    return None


def _count_lines(text: bytes) -> int:
    return text.count(b"\n") + (not text.endswith(b"\n"))
