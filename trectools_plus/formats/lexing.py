"""Split runs and qrels in any form that every command reads into their columns."""

from __future__ import annotations

import re
from typing import Literal

from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.columns.lexer import scan_columns
from trectools_plus.formats.columns.rows import QRELS_FIELDS, RUN_FIELDS
from trectools_plus.formats.files.content import BOM, FileContent
from trectools_plus.formats.interchange.names import QUERY_IDS, ColumnNames, normalize

_QUERY_NAMES = frozenset(map(normalize, QUERY_IDS))


def lex_run(source: FileContent, columns: ColumnNames | None = None) -> Columns:
    """Split a run into its six columns; tables and JSON are arranged as such.

    A file in another format is split at blanks, which leaves lines that are not rows.

    Args:
        source: The file.
        columns: The columns of some fields in a table.

    Raises:
        FormatError: If a Parquet file cannot be read as a run, or a column does not exist. Without
            these, any bytes can be split.
    """
    return _lex(source, "run", RUN_FIELDS, columns)


def lex_qrels(source: FileContent, columns: ColumnNames | None = None) -> Columns:
    """Split qrels into their four columns; see :func:`lex_run`."""
    return _lex(source, "qrels", QRELS_FIELDS, columns)


def _lex(
    source: FileContent, kind: Literal["run", "qrels"], n_fields: int, columns: ColumnNames | None
) -> Columns:
    if columns is not None or source.is_parquet or _may_be_arranged(source.head):
        # Only these files need the other formats, which load Polars.
        from trectools_plus.formats.interchange.detection import read_direct

        found = read_direct(source, kind, columns)
        if found is not None:
            return found
    return scan_columns(source, n_fields)


def _may_be_arranged(head: bytes) -> bool:
    """Return whether the first line with data may be the header of a table or the start of JSON."""
    text = head.removeprefix(BOM).decode("utf-8", "replace")
    lines = (line for line in text.split("\n") if line.strip(" \t\v\f\r") and line[0] != "#")
    line = next(lines, "")
    return (
        re.match(r'\s*[{\[<"]|sep=', line) is not None
        or any(line.count(mark) > 1 for mark in ",;|")
        or "\ufffd" in text
        or not _QUERY_NAMES.isdisjoint(map(normalize, re.split(r"[ \t,;|\r]", line)))
    )
