"""Convert runs and qrels in other formats to tables, with the same checks as for scoring."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from trectools_plus.errors import FormatError
from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.interchange.detection import convert_columns
from trectools_plus.formats.interchange.names import ColumnNames, KindName
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.text import listed
from trectools_plus.validation.engine import check_view, damaged_report
from trectools_plus.validation.findings import Finding, notes_on_findings, refuse_errors
from trectools_plus.validation.loading import refuse_several_systems
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView
from trectools_plus.validation.views.tables import TableView

_Content = TypeVar("_Content", Run, Qrels)

_FORM_CODES = frozenset({"R103", "R105", "Q101", "Q103"})
"""Rules that report the form of a file, which a conversion changes."""


@dataclass(frozen=True)
class ConvertedTable(Generic[_Content]):
    """A run or qrels in another format.

    Attributes:
        table: Its rows.
        format: The name of the format, for messages.
        notes: What the conversion added or left out, one clause each, and the findings that do not
            block scoring, without those on the form.
    """

    table: _Content
    format: str
    notes: tuple[str, ...]


def convert_run(
    path: str | Path, *, source_format: str | None = None, columns: ColumnNames | None = None
) -> ConvertedTable[Run]:
    """Read a run in any supported format.

    Args:
        path: The file; ``-`` is standard input.
        source_format: A format of ``FORMATS``; ``None`` detects it.
        columns: The columns of some fields in a table.

    Returns:
        The run; its scores are the negated ranks if the file has no scores. Its name is the first
        tag of the file, or made from the name of the file.

    Raises:
        FindingsError: If the file has errors that block scoring.
        FormatError: If it has another format, or is a table of several systems.
        InputError: If it cannot be read.
    """
    view = RunView.of_file(_read(path, "run", source_format, columns), None)
    refuse_several_systems(view)
    findings = _check(view)
    tags = view.rows.tags.texts(view.rows.tags.numbered()[1])
    source_name, notes = _describe(view.file)
    if len(tags) > 1:
        notes = (*notes, f"the tag {view.tag} replaces the tags {listed(tags)}")
    return ConvertedTable(view.table(view.tag), source_name, (*notes, *notes_on_findings(findings)))


def convert_qrels(
    path: str | Path, *, source_format: str | None = None, columns: ColumnNames | None = None
) -> ConvertedTable[Qrels]:
    """Read qrels in any supported format; see :func:`convert_run`.

    Args:
        path: The file; ``-`` is standard input.
        source_format: A format of ``FORMATS``; ``None`` detects it.
        columns: The columns of some fields in a table.

    Returns:
        The judgments; identical repeated judgments once.

    Raises:
        FindingsError: If the file has errors that block scoring.
        FormatError: If it has another format.
        InputError: If it cannot be read.
    """
    view = QrelsView.of_file(_read(path, "qrels", source_format, columns))
    findings = _check(view)
    source_name, notes = _describe(view.file)
    notes = (*notes, *notes_on_findings((), findings))
    return ConvertedTable(view.table(str(path)), source_name, notes)


def _read(
    path: str | Path, kind: KindName, source_format: str | None, columns: ColumnNames | None
) -> Columns:
    try:
        source = read_file(path, partial=True, tables=True)
    except FormatError as error:
        refuse_errors(damaged_report(error, kind).findings)
        raise
    return convert_columns(source, kind, source_format, columns)


def _check(view: TableView) -> tuple[Finding, ...]:
    findings = check_view(view)
    refuse_errors(findings)
    return tuple(one for one in findings if one.code not in _FORM_CODES)


def _describe(columns: Columns) -> tuple[str, tuple[str, ...]]:
    """Return the name of the format, and what the conversion added or left out."""
    origin = columns.origin
    if origin is None:
        return "TREC", ()
    left_out = [f"not converted: {', '.join(origin.left_out)}"] if origin.left_out else []
    return origin.format, (*origin.notes, *left_out)
