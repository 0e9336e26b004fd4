"""Qrels and run for ``trec-eval``: reading, validation and ranking.

A rule declares whether C trec_eval's figures are determined by the data of a file that breaks it.
Such a file is scored as C trec_eval does, at once or with ``--permissive``; others are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.display import Displayed
from trectools_plus.errors import CheckFailedError, FormatError, UsageError
from trectools_plus.formats.columns.columns import Columns, iter_fields, scan_columns
from trectools_plus.formats.columns.rows import QRELS_FIELDS, RUN_FIELDS, QrelsRows, RunRows
from trectools_plus.formats.files.content import BOM, read_file
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.trec_eval.arguments import Arguments
from trectools_plus.trec_eval.output import notes_on_files
from trectools_plus.validation.engine import (
    check_pair_view,
    check_view,
    damaged_report,
    open_qrels,
)
from trectools_plus.validation.findings import DropIn, Finding, refuse_errors
from trectools_plus.validation.loading import refuse_report
from trectools_plus.validation.registry import DEFAULT_MAX_DEPTH
from trectools_plus.validation.rules.pairs import PairView
from trectools_plus.validation.rules.qrels import HIGHEST_SCORED
from trectools_plus.validation.views.kinds import QrelsView, RunView
from trectools_plus.validation.views.tables import fields_of

if TYPE_CHECKING:
    from trectools_plus.formats.tables import Qrels, Run

_ESCAPES = {byte: 0xE000 + byte for byte in range(0x80, 0x100)}
"""Characters in place of bytes that are not ASCII: not blanks, letters or marks, and in the order
of the bytes."""

_ESCAPE = re.compile(r"\\ue0([89a-f][0-9a-f])")


_BLANK, _WORD = rb"[ \t\f\v]", rb"[^ \t\f\v\r\n]+"
_SEVENTH_FIELD = re.compile(
    rb"(?m)^(?!#)(B*W(?:B+W){5})B+[^ \t\f\v\r\n][^\n]*$".replace(b"B", _BLANK).replace(b"W", _WORD)
)
NUMBER_START = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEX_START = re.compile(r"[+-]?0[xX][0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?(?:[pP][+-]?[0-9]+)?")
_INTEGER_START = re.compile(r"[+-]?[0-9]+")
_NOT_FINITE = re.compile(r"(?i)[+-]?(?:nan|inf)")


@dataclass(frozen=True, repr=False)
class Input(Displayed):
    """Qrels and run.

    Attributes:
        qrels: The judgments; each pair once.
        run: The run.
        notes: Notes on findings with which other commands or C trec_eval differ, one line each.
        is_escaped: Whether the ids are those of :func:`escape_bytes`.
    """

    qrels: JudgedQueries
    run: RunView
    notes: list[str] = field(default_factory=list)
    is_escaped: bool = False

    @classmethod
    def from_tables(cls, qrels: Qrels, run: Run) -> Input:
        """Use tables in memory without validating them."""
        view = RunView.of_table(run)
        view.last_tag = run.name
        return cls(JudgedQueries.of(qrels), view)


def read_input(arguments: Arguments) -> Input:
    """Read the two files of a command line.

    Args:
        arguments: The files (``-`` is standard input), ``--permissive`` and the version are used.

    Raises:
        FindingsError: If a file has errors at which trec_eval stops, or with which its figures are
            not determined.
        InputError: If a file cannot be read.
    """
    return read_run(arguments, *read_qrels(arguments))


def read_qrels(arguments: Arguments) -> tuple[QrelsView, list[Finding]]:
    """Read and check the qrels of a command line; see :func:`read_run`.

    Returns:
        The qrels; and their findings, unless the file is not UTF-8.
    """
    judged = refuse_report(open_qrels(arguments.files[0]))
    _refuse_other_form(judged)
    return judged, [] if has_other_bytes(judged) else _check_qrels(judged, arguments)


def read_run(arguments: Arguments, judged: QrelsView, of_qrels: Sequence[Finding]) -> Input:
    """Read the run of a command line; see :func:`read_input`.

    Args:
        arguments: The command line.
        judged: The qrels.
        of_qrels: Their findings.
    """
    results, of_tags = _open_run(arguments.files[1])
    is_escaped = has_other_bytes(judged) or has_other_bytes(results)
    of_bytes: dict[str, list[Finding]] = {"qrels": [], "run": []}
    if is_escaped:
        of_bytes = {
            view.kind: [finding for finding in check_view(view) if finding.code == "F103"]
            for view in (judged, results)
        }
        judged = QrelsView.of_file(_escaped(judged))
        results = RunView.for_scoring(_escaped(results))
        of_qrels = _check_qrels(judged, arguments)
    judgments = as_judgments(judged)
    results.other_query_ids, results.max_depth = frozenset(judged.query_ids), DEFAULT_MAX_DEPTH
    findings = [*of_tags, *_showing_bytes(check_view(results))]
    _refuse([*of_bytes["qrels"], *of_bytes["run"], *findings], arguments)
    _refuse_where_it_stops(results, findings)
    pair = _showing_bytes(check_pair_view(PairView(results, judged)))
    _refuse(pair, arguments)
    notes = notes_on_files([*of_bytes["run"], *findings, *pair], [*of_bytes["qrels"], *of_qrels])
    return Input(judgments, _as_c_reads(results), notes, is_escaped)


def _check_qrels(judged: QrelsView, arguments: Arguments) -> list[Finding]:
    """Return the findings, or refuse the qrels."""
    findings = _showing_bytes(check_view(judged))
    _refuse(findings, arguments)
    _refuse_where_it_stops(judged, findings)
    return findings


def escape_bytes(data: bytes) -> str:
    """Return a text in which each byte that is not ASCII is a private character of its own."""
    return data.decode("latin-1").translate(_ESCAPES)


def restore_bytes(text: str) -> str:
    """Return the text of :func:`escape_bytes` as Python decodes file names (PEP 383)."""
    back = {escape: byte for byte, escape in _ESCAPES.items()}
    return text.translate(back).encode("latin-1").decode("utf-8", "surrogateescape")


def _showing_bytes(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in which escaped bytes are shown like ``\\xe9``."""
    return [
        replace(finding, message=_ESCAPE.sub(r"\\x\1", finding.message)) for finding in findings
    ]


def has_other_bytes(view: RunView | QrelsView) -> bool:
    """Return whether the file is neither UTF-8, nor UTF-16 or UTF-32."""
    return view.columns is not None and view.columns.encoding_guess == "latin-1"


def _escaped(view: RunView | QrelsView) -> Columns:
    """Split the file into columns again, with escapes in place of bytes that are not ASCII."""
    if view.columns is None:
        raise UsageError(
            "qrels of a catalogue cannot be compared with ids that are not UTF-8",
            where=view.path,
            remedy="convert the run: iconv -f latin1 -t utf-8",
        )
    source = view.columns.source
    mark = BOM if source.data.startswith(BOM) else b""
    data = mark + escape_bytes(source.data[len(mark) :]).encode()
    return scan_columns(replace(source, data=data), view.columns.n_fields)


def _refuse_where_it_stops(view: RunView | QrelsView, findings: Sequence[Finding]) -> None:
    """Refuse errors that are accepted elsewhere, but at which trec_eval stops in this file.

    trec_eval stops at a row with too few columns for any reason, at one of qrels with too many, and
    at the second row of a query if column 3 does not contain the documents.
    """
    columns = view.columns
    if columns is None:
        return
    n_fields = columns.misshapen.n_fields
    stops = n_fields < RUN_FIELDS if view.kind == "run" else n_fields != columns.n_fields
    if view.file.header is not None:
        stops &= columns.misshapen.line != view.file.header[0]
    if stops.any():
        refuse_errors(finding for finding in findings if finding.code in ("R114", "Q114"))
    if len(view.repeats):
        refuse_errors(finding for finding in findings if finding.code == "R108")


def _open_run(path: str | Path) -> tuple[RunView, list[Finding]]:
    """Read a run without the words after the sixth column, which trec_eval ignores.

    Returns:
        The run; and the error of rows in which an id may contain a blank.
    """
    try:
        source = read_file(path, partial=True)
    except FormatError as error:
        refuse_errors(damaged_report(error, "run").findings)
        raise AssertionError("a damaged file has an error") from error
    view = RunView.for_scoring(scan_columns(source, RUN_FIELDS))
    if not (view.misshapen.n_fields > RUN_FIELDS).any():
        return view, []
    findings = [finding for finding in check_view(view) if finding.code == "R102"]
    cut = replace(source, data=_SEVENTH_FIELD.sub(rb"\1", source.data))
    return RunView.of_file(scan_columns(cut, RUN_FIELDS)), findings


def _refuse_other_form(judged: QrelsView) -> None:
    """Refuse tables with a header and JSON, at which trec_eval stops."""
    if judged.origin:
        findings = check_view(judged)
        finding = next(finding for finding in findings if finding.code in ("Q101", "Q103"))
        raise CheckFailedError(
            f"{finding.message}; trec_eval stops here",
            where=finding.place,
            remedy=f"convert it: trectools-plus qrels convert {judged.path} --output qrels.txt",
        )


def _refuse(findings: Sequence[Finding], arguments: Arguments) -> None:
    """Raise an error for findings that block scoring, unless C trec_eval's figures are wanted."""
    accepted: set[DropIn] = set() if arguments.strict_input else {"scores"}
    if arguments.permissive:
        accepted |= {"scores", "permissive"}
    refuse_errors(
        (
            finding
            for finding in findings
            if not finding.blocks_scoring or finding.drop_in not in accepted
        ),
        strict_input=arguments.strict_input,
    )


def as_judgments(view: QrelsView) -> JudgedQueries:
    """Return the judgments as C reads them: a grade is the whole number at its start.

    Raises:
        CheckFailedError: If a grade is too high.
    """
    rows = view.rows
    if not view.grades_are_integers:
        values, odd = rows.grades.copy(), np.isnan(rows.grades)
        texts = view.texts(QRELS_FIELDS, np.flatnonzero(odd))
        values[odd] = [_read_integer(text) for text in texts]
        values = np.minimum(values, HIGHEST_SCORED + 1).astype(np.int64)
        rows = replace(rows, grades=values)
    if rows.grades.max(initial=0) > HIGHEST_SCORED:
        raise CheckFailedError(
            f"a grade is above {HIGHEST_SCORED:,}, for which trec_eval needs too much memory",
            where=view.path,
            remedy="rescale the grades to 0 to 4",
        )
    fields = _header_fields(view)
    if len(fields) == QRELS_FIELDS:
        # trec_eval reads the word in the column of grades as 0.
        header = f"{fields[0]} 0 {fields[2]} 0\n".encode()
        (first,) = iter_fields(header, QRELS_FIELDS, b" ")
        rows = QrelsRows.joined([QrelsRows.of_fields(first), rows])
    if rows is view.rows:
        return JudgedQueries.of_view(view)
    return JudgedQueries.of_view(QrelsView(view.path, rows))


def _read_integer(text: str) -> int:
    """Return the number that C's ``atol`` reads, or a number that is too high a grade."""
    start = _INTEGER_START.match(text)
    limit = HIGHEST_SCORED + 1
    return 0 if start is None else max(-limit, min(int(start[0][:20]), limit))


def _as_c_reads(view: RunView) -> RunView:
    """Return a run as C reads it: a score is the number at its start.

    Raises:
        CheckFailedError: If a score is not finite.
    """
    rows = view.rows
    odd = np.flatnonzero(~np.isfinite(view.score))
    if len(odd):
        texts = view.texts(5, odd)
        values = view.score.copy()
        values[odd] = list(map(_read_float, texts))
        if any(map(_NOT_FINITE.match, texts)) or not np.isfinite(values).all():
            raise CheckFailedError(
                "a score is NaN or infinite, so the order in trec_eval is not determined",
                where=view.path,
                remedy="correct the score, or remove the row",
            )
        rows = replace(rows, scores=values)
    fields = _header_fields(view)
    if len(fields) >= RUN_FIELDS:
        # trec_eval reads the word in the column of scores as 0.
        header = f"{fields[0]} Q0 {fields[2]} 0 0 {fields[5]}\n".encode()
        (first,) = iter_fields(header, RUN_FIELDS, b" ")
        rows = RunRows.joined([RunRows.of_fields(first), rows])
    return view if rows is view.rows else RunView(view.path, rows)


def _read_float(text: str) -> float:
    """Return the number that C's ``atof`` reads."""
    in_hex = _HEX_START.match(text)
    if in_hex is not None:
        return float.fromhex(in_hex[0])
    start = NUMBER_START.match(text)
    return 0.0 if start is None else float(start[0])


def _header_fields(view: RunView | QrelsView) -> list[str]:
    """Return the fields of a header line, which trec_eval reads like any other line."""
    return [] if view.file.header is None else fields_of(view.file.header[1])
