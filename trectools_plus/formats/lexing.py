"""Split runs and qrels in any form that every command reads into their columns."""

from __future__ import annotations

import re
from typing import Literal

from trectools_plus.formats.columns.columns import Columns, scan_columns
from trectools_plus.formats.columns.rows import QRELS_FIELDS, RUN_FIELDS
from trectools_plus.formats.files.content import BOM, FileContent
from trectools_plus.formats.interchange.names import QUERY_IDS, ColumnNames, normalize

_QUERY_NAMES = frozenset(map(normalize, QUERY_IDS))


def lex(
    source: FileContent, kind: Literal["run", "qrels"], columns: ColumnNames | None = None
) -> Columns:
    """Split a run into its six columns, or qrels into four; tables and JSON are arranged as such.

    A file in another format is split at blanks, which leaves lines that are not rows.

    Args:
        source: The file.
        kind: What the file is.
        columns: The columns of some fields in a table.

    Raises:
        FormatError: If a Parquet file cannot be read as such, or a column does not exist. Without
            these, any bytes can be split.
    """
    if columns is not None or source.is_parquet or _may_be_arranged(source.head):
        # Only these files need the other formats, which load Polars.
        from trectools_plus.formats.interchange.detection import read_direct

        found = read_direct(source, kind, columns)
        if found is not None:
            return found
    return scan_columns(source, RUN_FIELDS if kind == "run" else QRELS_FIELDS)


def _may_be_arranged(head: bytes) -> bool:
    """Return whether the first line with data may be the header of a table or the start of JSON."""
    text = head.removeprefix(BOM).decode("utf-8", "replace")
    lines = (line for line in text.split("\n") if line.strip(" \t\v\f\r") and line[0] != "#")
    line = next(lines, "")
    return (
        re.match(r'\s*[{\[<"]|sep=', line) is not None
        or max(map(line.count, ",;|")) > 1
        or "\ufffd" in text
        or not _QUERY_NAMES.isdisjoint(map(normalize, re.split(r"[ \t,;|\r]", line)))
    )
