"""Fix files: apply the steps in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from trectools_plus.errors import FormatError, UsageError
from trectools_plus.formats.columns.facts import guess_encoding
from trectools_plus.formats.files.binary import PARQUET, BinaryFileError
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.files.outputs import refuse_overwriting
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.formats.topic_records.forms import form_of
from trectools_plus.formats.writing import open_output
from trectools_plus.text import plural
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.engine import as_qrels_view, as_run_view
from trectools_plus.validation.findings import FileReport
from trectools_plus.validation.fixes.session import (
    FileDraft,
    FixOptions,
    FixSession,
    LineNumbers,
    TopicsDraft,
    is_blank,
)
from trectools_plus.validation.fixes.summary import FixSummary, iter_changes
from trectools_plus.validation.registry import DEFAULT_MAX_DEPTH, FixStep, Phase
from trectools_plus.validation.rules.file.encoding import log_compression
from trectools_plus.validation.rules.file.shared import conversion_remedy
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView


def apply_step(step: FixStep, draft: FileDraft, session: FixSession) -> FileDraft:
    """Apply a step if one of its fixes is wanted; the log says how many rows it deleted."""
    if not any(map(session.wants, step.codes)):
        return draft
    n_applied, n_rows = len(session.applied), draft.view.n_rows
    after: FileDraft = step.apply(draft, session)
    n_deleted = max(0, n_rows - after.view.n_rows)
    session.applied[n_applied:] = [
        replace(fix, deleted=min(fix.count, n_deleted)) for fix in session.applied[n_applied:]
    ]
    return after


def announce_deletions(session: FixSession, path: str, n_rows: int) -> None:
    """Report each fix that deletes rows, before the file is written."""
    announce = session.options.before_deletion or (lambda _: None)
    for fix in session.applied:
        if fix.deleted:
            announce(f"{path}: {fix.code} deletes {fix.deleted:,} of {plural(n_rows, 'row')}")


_MAX_ROUNDS = 5
_BARE_CR = r"\r(?!\n|\Z)"
_CR_ENDS_LINES = "single CR on line {}, a line end for some readers (F105)"
_CODE = re.compile(r"[FRQTP][0-9]{3}")
_ENCODING_DECLARED = re.compile(r"<\?xml[^>]*\sencoding\s*=\s*[\"'](?!utf-?8[\"'])", re.IGNORECASE)


def split_fix_values(values: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Separate the output file from the rule codes in the values of a repeated ``--fix``.

    A value is a list of codes if each of its comma-separated parts is one letter of F, R, Q, T, P
    and three digits, in upper or lower case. Everything else is a path; write ``./R161`` for a file
    whose name is a code.

    Args:
        values: The values from the command line: ``["clean.run", "R152,R161"]``.

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
            remedy="--fix OUT applies the safe fixes, --fix OUT --fix R152,R161 these two as well",
        )
    return outputs[0], tuple(codes)


def _check_output(output: str | Path, inputs: Iterable[str | Path | None]) -> None:
    if str(output) == "-":
        raise UsageError(
            "cannot write a fixed file to standard output", where="--fix -", remedy="name a file"
        )
    refuse_overwriting(output, inputs)


def fix_run(
    path: str | Path,
    output: str | Path,
    *,
    codes: Sequence[str] = (),
    max_depth: int | None = DEFAULT_MAX_DEPTH,
    options: FixOptions = FixOptions(),  # noqa: B008, it is frozen
    qrels: Qrels | QrelsView | str | Path | None = None,
) -> FixSummary:
    """Write a fixed copy of a run; the run itself is never changed.

    Safe fixes are always applied, others only if named. A safe fix does not change the ranking that
    is evaluated. Fixing the output again with the same codes does not change it. Problems without
    a fix are copied unchanged, so validate the output too.

    Nothing is written if the file has no rows, is truncated, has another format or kind, or
    contains bytes that are not text (not UTF-8 unless F103 is among the codes, NUL, single CRs).

    Args:
        path: The run; ``-`` is standard input.
        output: The file to write; its suffix decides its compression.
        codes: Fixes to apply in addition to the safe ones, for example ``R161``.
        max_depth: For R161: results to keep per query; ``None`` for all.
        options: Options of single fixes.
        qrels: For P104 and P106: the qrels whose spelling of ids is used.

    Returns:
        The applied fixes, the fixes that were not applied, and the changes line by line.

    Raises:
        UsageError: If the output is the input, or a code has no fix for runs.
        InputError: If a file cannot be read, or the output cannot be written.
    """
    _check_output(output, (path, qrels if isinstance(qrels, str | Path) else None))
    view = None if qrels is None else as_qrels_view(qrels)
    other = None if isinstance(view, FileReport) else view
    session = FixSession(CATALOGUE, "run", frozenset(codes), options, max_depth, other)
    return write_fixed_copy(path, output, session, _edit)


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
        output: The file to write; its suffix decides its compression.
        codes: Fixes to apply in addition to the safe ones, for example ``Q142``.
        options: Options of single fixes.
        run: For P104: a run whose spelling of query ids is used.

    Returns:
        The fixes applied and not applied, and the changed lines.

    Raises:
        UsageError: If the output is the input, or a code has no fix for qrels.
        InputError: If a file cannot be read, or the output cannot be written.
    """
    _check_output(output, (path, run if isinstance(run, str | Path) else None))
    view = None if run is None else as_run_view(run)
    other = None if isinstance(view, FileReport) else view
    session = FixSession(CATALOGUE, "qrels", frozenset(codes), options, other=other)
    return write_fixed_copy(path, output, session, _edit)


def fix_topics(
    path: str | Path,
    output: str | Path,
    *,
    codes: Sequence[str] = (),
    options: FixOptions = FixOptions(),  # noqa: B008, it is frozen
) -> FixSummary:
    """Write a fixed copy of topics or a test set; see :func:`fix_run`.

    TSV supports all fixes. In YAML, JSON and JSON Lines, encoding and line ends are fixed, and ids
    and texts are put in quotes (T114, T115, T117). In SGML and XML, only encoding and line ends are
    fixed.

    Args:
        path: The topics; ``-`` is standard input.
        output: The file to write; its suffix decides its compression.
        codes: Fixes to apply in addition to the safe ones, for example ``T113``.
        options: Options of single fixes.

    Returns:
        The fixes applied and not applied, and the changed lines.

    Raises:
        UsageError: If the output is the input, or a code has no fix for topics.
        InputError: If a file cannot be read, or the output cannot be written.
    """
    _check_output(output, (path,))
    session = FixSession(CATALOGUE, "topics", frozenset(codes), options)
    return write_fixed_copy(path, output, session, _edit_topics)


Edit = Callable[[str, bytes, FixSession], tuple[bytes, LineNumbers | None]]
"""Returns the fixed text of a file, given its path and its text after the fixes of bytes; and the
line of the input that each line comes from, ``None`` for the same lines."""


class NotFixableError(Exception):
    """A file cannot be fixed, for the reason that is the text of the error."""


def write_fixed_copy(
    path: str | Path, output: str | Path, session: FixSession, edit: Edit
) -> FixSummary:
    """Write a fixed copy of a file, and summarise its changes.

    Args:
        path: The file.
        output: The file to write.
        session: The options of the fixes, and their log.
        edit: Fixes the text; raises :class:`NotFixableError` if nothing is to be written.
    """
    summary = FixSummary(str(path), session.kind, None)
    try:
        source = read_file(path)
    except FormatError as error:
        convert = f"; use `{'runs' if session.kind == 'run' else 'qrels'} convert`"
        is_table = isinstance(error, BinaryFileError) and error.found is PARQUET
        is_convertible = is_table and session.kind != "topics"
        return replace(summary, refused=error.what + (convert if is_convertible else ""))
    before = source.data
    for step in CATALOGUE.steps(session.kind, "bytes"):
        before = step.apply(before, session)
    try:
        after, origin = edit(str(path), before, session)
    except NotFixableError as error:
        return replace(summary, refused=str(error), notes=tuple(session.notes))
    repacked = log_compression(source, output, session)
    with open_output(output) as stream:
        stream.write(after)
    return FixSummary(
        source.path,
        session.kind,
        str(output),
        applied=tuple(session.applied),
        notes=tuple(session.notes),
        repacked=repacked,
        lines_before=count_lines(before),
        lines_after=count_lines(after),
        _changes=partial(iter_changes, source.data, before, after, origin),
    )


def _edit(path: str, text: bytes, session: FixSession) -> tuple[bytes, LineNumbers | None]:
    """Fix a run or qrels."""
    _readable_text(text)
    first = draft = FileDraft(path, session.kind, text)
    _refuse_other_content(draft)
    if draft.view.is_arranged:
        session.notes.append("the table is copied. " + conversion_remedy(draft.view))
    else:
        draft = _apply_rounds(draft, session)
        _refuse_other_content(draft)
    announce_deletions(session, path, first.view.n_rows)
    return draft.data, draft.origin


def _apply_rounds(draft: FileDraft, session: FixSession) -> FileDraft:
    """Apply the steps on rows; if fixes were named, repeat until the file does not change.

    A safe fix never makes another one necessary, but other fixes can: after repeated documents are
    removed, the scores of most queries may rise with rank.
    """
    for _ in range(_MAX_ROUNDS):
        before, n_notes = draft.data, len(session.notes)
        for step in CATALOGUE.steps(session.kind, "rows"):
            draft = apply_step(step, draft, session)
        if not session.requested or draft.data == before:
            break
        del session.notes[n_notes:]  # the next round adds the notes that are still true
    return draft


def _refuse_other_content(draft: FileDraft) -> None:
    """Refuse a file that is not a run or qrels with rows."""
    shape = draft.view.shape
    if shape.verdict == "other-format" or (shape.verdict == "arranged" and shape.header is None):
        raise NotFixableError(
            f"{shape.format}, not columns separated by blanks. {conversion_remedy(draft.view)}"
        )
    if shape.verdict == "wrong-kind":
        raise NotFixableError("it is qrels (R104)" if draft.kind == "run" else "it is a run (Q104)")
    if shape.first_line is None:
        hashed = len(draft.view.unparsed_lines)
        raise NotFixableError(
            "all rows start with '#' (R112, Q112)" if hashed else "it has no rows (F101)"
        )


def _edit_topics(path: str, data: bytes, session: FixSession) -> tuple[bytes, LineNumbers]:
    """Fix topics or a test set."""
    text = _readable_text(data)
    form = form_of(path, text)
    draft = TopicsDraft.of_text(text, form)
    n_applied = len(session.applied)
    draft = _apply_to_topics(draft, session, "topics")
    if draft.form == "tsv":
        draft = _apply_to_topics(draft, session, "tsv")
        session.applied[n_applied:] = sorted(session.applied[n_applied:], key=lambda one: one.code)
    if all(map(is_blank, draft.lines)):
        raise NotFixableError("it has no topics (F101)")
    start = "\n".join(draft.lines[:100])
    if draft.form == "tsv" and form_of(path, start) != "tsv":
        # A comment was removed.
        raise NotFixableError("without its first lines, it is not TSV")
    if (
        draft.form == "xml"
        and "F103" in session.requested
        and _ENCODING_DECLARED.match(start.lstrip())
    ):
        raise NotFixableError(
            "its first line names another encoding than UTF-8; change it there as well"
        )
    return draft.text.encode(), np.array(draft.origin, dtype=np.uint32)


def _apply_to_topics(draft: TopicsDraft, session: FixSession, phase: Phase) -> TopicsDraft:
    for step in CATALOGUE.steps("topics", phase):
        if any(map(session.wants, step.codes)):
            draft = step.apply(draft, session)
    return draft


def _readable_text(data: bytes) -> str:
    """Return the text of a file whose lines can be read; refuse another file."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = None
    guess = guess_encoding(data, bad_utf8=text is None)
    if text is None or guess is not None:
        raise NotFixableError(f"it is not UTF-8 ({str(guess).upper()}?), --fix F103 converts it")
    for pattern, what in (("\0", "NUL byte on line {} (F106)"), (_BARE_CR, _CR_ENDS_LINES)):
        found = re.search(pattern, text)
        if found is not None:
            raise NotFixableError(what.format(text.count("\n", 0, found.start()) + 1))
    return text


def count_lines(text: bytes) -> int:
    """Return the number of lines of a text."""
    return text.count(b"\n") + (not text.endswith(b"\n"))
