"""The formats of runs and qrels, a row each, and the one place that asks which a file has.

Parquet, JSON and tables with a header are read wherever a run or qrels are accepted. The other
formats can be confused with each other, so only ``runs convert`` and ``qrels convert`` read them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.columns.columns import Columns, scan_columns
from trectools_plus.formats.columns.decimals import DECIMAL, INTEGER
from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.interchange.arrangement import arrange_table
from trectools_plus.formats.interchange.json_forms import LISTED, UnknownFormError, read_json
from trectools_plus.formats.interchange.names import KINDS, ColumnNames, Kind, KindName
from trectools_plus.formats.interchange.table_files import (
    BLANKS,
    HeadedTable,
    Header,
    find_header,
    headed,
    read_parquet_table,
    read_table,
)

_JSON_START = re.compile(rb"[\s\xef\xbb\xbf]*[\[{]")
_MAPPING_REMEDY = (
    "name columns of the header, or give their numbers: query=1,doc_id=2,score=3; in JSON, name "
    "the keys of the objects"
)


def as_table(
    source: FileContent, kind: Kind, columns: ColumnNames | None = None
) -> HeadedTable | None:
    """Read Parquet, JSON, or a table with a header.

    Args:
        source: The file.
        kind: The kind of file.
        columns: The columns of some fields.

    Returns:
        ``None`` if the file has another format.

    Raises:
        FormatError: If a Parquet file cannot be read as this kind, or a column does not exist.
    """
    if source.is_parquet:
        return read_parquet_table(source, kind, columns)
    if _JSON_START.match(source.head) is None:
        read = _read_headed if columns is None else partial(_read_mapped, columns=columns)
        return read(source, kind)
    try:
        return read_json(text_of(source), kind, columns)
    except UnknownFormError as error:
        if columns is None:
            return None
        remedy = error.remedy or _MAPPING_REMEDY
        raise FormatError(error.what, path=source.path, remedy=remedy) from None


def read_direct(source: FileContent, kind: KindName, columns: ColumnNames | None) -> Columns | None:
    """Read what every command reads as the columns of a run or qrels; see :func:`as_table`."""
    table = as_table(source, KINDS[kind], columns)
    return None if table is None else arrange_table(source, KINDS[kind], table, columns)


def text_of(source: FileContent) -> str:
    """Return the text of a file without byte order mark; U+FFFD replaces invalid bytes."""
    return source.data.decode("utf-8", "replace").removeprefix("\ufeff")


def json_problem(source: FileContent, kind: KindName) -> tuple[str, str | None] | None:
    """Return why a JSON file cannot be read, and what to do if that is known."""
    if _JSON_START.match(source.head) is None:
        return None
    try:
        read_json(text_of(source), KINDS[kind])
    except UnknownFormError as error:
        return error.what, error.remedy
    return None


# Tables with a header.


def _head_of(source: FileContent) -> str:
    return source.head.decode("utf-8", "ignore").removeprefix("\ufeff")


def _read_headed(source: FileContent, kind: Kind) -> HeadedTable | None:
    """Read a table whose header names the fields, other than TREC's columns in their order."""
    header = find_header(_head_of(source), lambda names: kind.find(names) is not None)
    if header is None:
        return None
    places = kind.find(header.names) or {}
    if header.separator in (BLANKS, "\t") and '"' not in header.text:
        named = (field for field in kind.columns if field in (*kind.required, "rank"))
        in_order = all(places.get(field) == kind.columns.index(field) for field in named)
        if in_order and len(header.names) == len(kind.columns):
            return None  # R105 and Q103 report such a header
    table = read_table(text_of(source), header, places)
    doc_ids = table.rows[f"c{places.get('doc_id', 0) + 1}"]
    if (doc_ids == "").all() and len(table.misshapen) + len(doc_ids):
        # For example three names above four columns: a header above TREC's form.
        return None if scan_columns(source, len(kind.columns)).n_rows else table
    return table


_POSITION = re.compile(r"-?([0-9]+)(?:(?:[^\w\s]|_)[1-9])?", re.ASCII)
"""A number of a column, which can be negated or split."""


def _read_mapped(source: FileContent, kind: Kind, columns: ColumnNames) -> HeadedTable:
    """Read a table of which the user names columns, or their numbers.

    Raises:
        FormatError: If a column does not exist.
    """
    head = _head_of(source)
    header = find_header(head, lambda names: kind.find(names, columns) is not None)
    has_positions = all(map(_POSITION.fullmatch, columns.values()))
    if has_positions and header is not None and not _names_fields(header, columns):
        names = tuple(str(number) for number in range(1, len(header.names) + 1))
        header = replace(header, line=0, text="", names=names)
    places = kind.find(header.names, columns) if header else None
    if not header or not places:
        first = find_header(head, lambda _: True)
        shown = "no table" if first is None else f"columns: {', '.join(first.names[:20])}"
        named = ", ".join(f"{field}={name}" for field, name in columns.items())
        raise FormatError(
            f"expected columns {named}, with a query id, a document id, and a score or a rank, or "
            f"a grade in qrels, but got {shown}",
            path=source.path,
            remedy=_MAPPING_REMEDY,
        )
    return read_table(text_of(source), header, places)


def _names_fields(header: Header, columns: ColumnNames) -> bool:
    """Return whether a first line is a header: the values in the named columns are no numbers."""
    numbers = (
        int(_POSITION.sub(r"\1", name))
        for field, name in columns.items()
        if field in ("score", "rank", "relevance")
    )
    places = [number - 1 for number in numbers if number <= len(header.names)]
    return any(re.match(DECIMAL, header.names[place]) is None for place in places)


# Columns without a header.

Read = Callable[[FileContent, Kind], HeadedTable | None]
"""Reads a file; ``None`` if it has another format."""


def _in_columns(
    label: str,
    *layouts: Mapping[str, str],
    change: Callable[[pl.DataFrame], pl.DataFrame | None] = lambda frame: frame,
    notes: tuple[str, ...] = (),
) -> Read:
    """Return a reader of lines of columns.

    Args:
        label: The name of the format.
        layouts: The fields of a line, each with the pattern of its values. If there are several
            layouts, the first that fits all lines applies.
        change: Returns the rows as they are read; ``None`` if they have another format.
        notes: What is added or left out.
    """

    def read(source: FileContent, kind: Kind) -> HeadedTable | None:
        for layout in layouts:
            columns = scan_columns(source, len(layout))
            if len(columns.misshapen) or not columns.n_rows:
                continue
            frame = columns.rows.rename(dict(zip(columns.rows.columns[1:], layout, strict=True)))
            fits = all(frame[name].str.contains(value).all() for name, value in layout.items())
            if fits and (changed := change(frame)) is not None:
                lines, *texts = changed.iter_columns()
                places = {
                    name: place
                    for place, name in enumerate(changed.columns[1:])
                    if name in kind.fields
                }
                return headed(lines, texts, label, places=places, notes=notes)
        return None

    return read


_IDS = {"query_id": "", "doc_id": ""}
_RANKED = {**_IDS, "rank": r"^[0-9]{1,9}$"}
_LEVEL = r"^[Ll][0-9]$"


def _rankings(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Return the rows if the ranks of each query rise from 0 or 1."""
    ranks = frame.select("query_id", rank=pl.col("rank").cast(pl.Int64))
    queries = ranks.group_by("query_id").agg(
        is_ranking=pl.col("rank").min().is_in([0, 1]) & (pl.col("rank").diff() > 0).all()
    )
    is_list = "score" in frame.columns or ranks.height == 1 or queries.height < ranks.height
    return frame if is_list and queries["is_ranking"].all() else None


def _relevant(frame: pl.DataFrame) -> pl.DataFrame | None:
    if frame["doc_id"].n_unique() == 1 < frame.height:
        return None
    return frame.select("line", "query_id", "doc_id", relevance=pl.lit("1"))


_DIRECT = ("csv", "tsv", "json", "trec-rag", "beir")
"""Names of formats that every command reads."""
_LAYOUTS: Mapping[KindName, Mapping[str, Read]] = {
    "run": {
        "msmarco": _in_columns(
            "MS MARCO", _RANKED, {**_RANKED, "score": DECIMAL}, change=_rankings
        ),
    },
    "qrels": {
        "ntcir": _in_columns(
            "NTCIR",
            {**_IDS, "relevance": _LEVEL},
            {"query_id": "", "iteration": "", "doc_id": "", "relevance": _LEVEL},
            change=lambda frame: frame.with_columns(pl.col("relevance").str.slice(1)),
        ),
        "smart": _in_columns(
            "SMART",
            {**_IDS, "zero": r"^0$", "weight": r"^0+(?:\.0*)?$"},
            change=_relevant,
            notes=(LISTED,),
        ),
        "prels": _in_columns(
            "prels",
            {
                **_IDS,
                "relevance": INTEGER,
                "method": r"^[0-9]+$",
                "probability": r"^(?:0?\.[0-9]+(?:[eE]-?[0-9]+)?|[01](?:\.0*)?)$",
            },
            notes=(
                "the sampling probabilities are left out: measures count each judgment once, which "
                "differs from the estimates of statAP and MTC",
            ),
        ),
        "msmarco": _in_columns("MS MARCO", {**_IDS, "relevance": r"^[+-]?[0-9]{1,3}$"}),
    },
}
"""The formats that only ``convert`` reads, by their names as options, in the order of detection."""


def convert_columns(
    source: FileContent, kind: KindName, name: str | None, columns: ColumnNames | None = None
) -> Columns:
    """Read a run or qrels in any format.

    Args:
        source: The file.
        kind: The kind of file.
        name: The name of the format; ``None`` detects it.
        columns: The columns of some fields in a table.

    Raises:
        FormatError: If the file does not have this format, or no format.
    """
    if name is None or name in _DIRECT or columns is not None or source.is_parquet:
        read = read_direct(source, kind, columns)
        if read is not None:
            return read
    what, remedy = json_problem(source, kind) or ("", None)
    for known, reader in _LAYOUTS[kind].items():
        if not what and name in (None, known) and (table := reader(source, KINDS[kind])):
            return arrange_table(source, KINDS[kind], table)
    scanned = scan_columns(source, len(KINDS[kind].columns))
    if not what and name in (None, "trec") and scanned.n_rows:
        return scanned
    raise FormatError(
        what or "the content has no known format",
        path=source.path,
        remedy=remedy or f"see `trectools-plus {kind.rstrip('s')}s convert -h`, or add --columns",
    )
