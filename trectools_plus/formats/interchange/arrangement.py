"""Arrange values from another layout as the columns of a run or of qrels.

The result is a :class:`Columns`, like that of a TREC file, so that the same rules apply and
findings have the lines of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from trectools_plus.formats.columns.columns import Columns, Origin, scan_columns
from trectools_plus.formats.columns.decimals import parse_column
from trectools_plus.formats.columns.facts import Occurrences, OddLines
from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.interchange.names import (
    JUDGMENT_TYPES,
    RUN,
    SYSTEMS,
    ColumnNames,
    ColumnValue,
    Kind,
    value_of_column,
)
from trectools_plus.formats.interchange.systems import find_systems
from trectools_plus.formats.interchange.table_files import HeadedTable
from trectools_plus.formats.writing import tag_of_path

RANK_AS_SCORE = "the ranks give the order, because there are no scores"
"""The note on a run whose scores are the negated ranks."""

_UNWRITABLE = r"[\t\n\r]"
_BLANKS = r"[ \t\x0b\x0c]+"
_RANK = r"^\+?[0-9]+(?:\.0*)?$"


def arrange_table(
    source: FileContent,
    kind: Kind,
    table: HeadedTable,
    places: Mapping[str, int],
    *,
    notes: Sequence[str] = (),
    columns: ColumnNames | None = None,
) -> Columns:
    """Arrange a table with named columns as a run or qrels.

    Args:
        source: The file.
        kind: The kind of file.
        table: Its rows.
        places: The column of each field, from 0.
        notes: What the reader added or left out.
        columns: The columns that the user names, which can be negated or split.
    """
    header = table.header
    columns = columns or {}
    values = {field: value_of_column(header.names, name) for field, name in columns.items()}
    value = kind.value_in(places)
    assert value is not None
    required = ("query_id", "doc_id", value)
    frame, incomplete = _split_incomplete(table, places, required, values)
    used = set(places.values())
    further = {
        name: f"c{place + 1}"
        for place, name in enumerate(header.names)
        if place not in used and name
    }
    origin = Origin(
        header.format,
        (header.line, header.text) if header.line else None,
        tuple(header.names[places[field]] for field in required),
        tuple(notes),
        left_out=tuple(further),
        has_lines=table.has_lines,
    )
    if header.separator:
        origin = replace(
            origin,
            places={kind.columns.index(field) + 1: place for field, place in places.items()},
            split=header.split,
            column_of=header.column_of,
        )
    tags = {header.names[places["tag"]]: "tag"} if "tag" in places else {}
    candidates = {**tags, **further}
    arranged = arrange(source, kind, frame, origin, candidates, names_systems="tag" in columns)
    return replace(arranged, misshapen=table.misshapen + incomplete, comments=table.comments)


def _split_incomplete(
    table: HeadedTable,
    places: Mapping[str, int],
    required: Sequence[str],
    values: Mapping[str, ColumnValue | None],
) -> tuple[pl.DataFrame, OddLines]:
    """Return the rows with all required values, with further columns by field; and all others."""
    frame = table.rows.with_columns(
        **{
            field: _value(pl.col(f"c{place + 1}"), values.get(field), values)
            for field, place in places.items()
        }
    )
    is_empty = [pl.col(field) == "" for field in required]
    is_split = [pl.col(field).str.contains(_UNWRITABLE) for field in places]
    is_wrong = frame.select(pl.any_horizontal(*is_empty, *is_split)).to_series()
    names = table.rows.columns[1:]
    wrong = frame.filter(is_wrong).select(
        "line",
        n_fields=pl.when(pl.any_horizontal(*is_empty))
        .then(len(required) - pl.sum_horizontal(*is_empty))
        .otherwise(len(names) + 1),
        text=pl.concat_str(names, separator=table.header.separator or " "),
    )
    return frame.filter(~is_wrong), OddLines.of_frame(wrong)


def _value(
    column: pl.Expr, value: ColumnValue | None, values: Mapping[str, ColumnValue | None]
) -> pl.Expr:
    """Return the value of a field; empty if a column does not have the parts that are named."""
    if value is None:
        return column
    if value.is_negated:
        is_negative, digits = column.str.starts_with("-"), column.str.strip_chars_start("+-")
        return pl.when((column == "") | is_negative).then(digits).otherwise(pl.lit("-") + digits)
    if not value.separator:
        return column
    parts = column.str.split(value.separator)
    shared = (one for one in values.values() if one is not None and one.place == value.place)
    n_parts = max(one.part for one in shared)
    part = parts.list.get(value.part - 1, null_on_oob=True)
    return pl.when(parts.list.len() == n_parts).then(part).otherwise(pl.lit(""))


def arrange(
    source: FileContent,
    kind: Kind,
    frame: pl.DataFrame,
    origin: Origin,
    candidates: Mapping[str, str] | None = None,
    *,
    names_systems: bool = False,
) -> Columns:
    """Arrange values as the columns of a run or of qrels.

    In a run without ranks, results are numbered by falling score. Without scores, the negated
    ranks are the scores. If a further column names systems, the results of each are arranged as a
    run too.

    Args:
        source: The file.
        kind: The kind of file.
        frame: Texts by field, all that are required and any others, and ``line``; and further
            columns.
        origin: The layout of the file.
        candidates: The names in the file of columns of ``frame`` that may name systems, or types of
            judgment in qrels.
        names_systems: Whether the user said that the column ``tag`` names systems.
    """
    candidates = candidates or {}
    if kind is not RUN:
        types = find_systems(frame, candidates, JUDGMENT_TYPES)
        if types is not None and _has_conflicts(frame):
            origin = replace(origin, systems=types)
        frame = frame.with_columns(iteration=_words(frame, "iteration", "0"))
        return _columns(source, frame.select("line", *kind.columns), origin)
    if "score" not in frame.columns:
        negated = pl.format("-{}", pl.col("rank").str.strip_chars_start("+"))
        is_rank = pl.col("rank").str.contains(_RANK)
        frame = frame.with_columns(score=pl.when(is_rank).then(negated).otherwise("rank"))
        origin = replace(origin, notes=(*origin.notes, RANK_AS_SCORE))
    systems = find_systems(frame, candidates, SYSTEMS, named="tag" if names_systems else None)
    parts: dict[str, Columns] = {}
    if systems is not None and systems.is_clear:
        (name,) = systems.columns
        frame = frame.with_columns(tag=pl.col(candidates[name]))
        left_out = tuple(other for other in origin.left_out if other != name)
        origin = replace(origin, left_out=left_out)
        parts = {
            value: arrange(source, kind, frame.filter(pl.col("tag") == value), origin)
            for value in systems.values
        }
    if "rank" not in frame.columns or (frame["rank"] == "").any():
        ranks = pl.col("value").rank("ordinal", descending=True).over("query_id")
        values = frame.select("query_id", value=parse_column(frame["score"]))
        frame = frame.with_columns(rank=values.select(ranks.fill_null(0)).to_series())
    tag = _words(frame, "tag", tag_of_path(source.path))
    frame = frame.with_columns(q0=pl.lit("Q0"), tag=tag).select("line", *kind.columns)
    return replace(_columns(source, frame, replace(origin, systems=systems)), systems=parts)


def _words(frame: pl.DataFrame, name: str, default: str) -> pl.Expr:
    """Return a column whose values are one word each, with a default for empty ones."""
    if name not in frame.columns:
        return pl.lit(default)
    filled = pl.when(pl.col(name) == "").then(pl.lit(default)).otherwise(name)
    return filled.str.replace_all(_BLANKS, "_")


def _has_conflicts(frame: pl.DataFrame) -> bool:
    """Return whether a document has several grades for a query."""
    judged = frame.select("query_id", "doc_id", "relevance").hash_rows().n_unique()
    return bool(judged > frame.select("query_id", "doc_id").hash_rows().n_unique())


def _columns(source: FileContent, frame: pl.DataFrame, origin: Origin) -> Columns:
    if source.is_parquet:
        source = replace(source, data=b"")
    n_fields = len(frame.columns) - 1
    facts = scan_columns(source, n_fields).facts
    is_quoted = origin.header is not None and '"' in origin.header[1]
    facts = replace(
        facts,
        blank_lines=Occurrences() if is_quoted else facts.blank_lines,
        loose_rows=Occurrences(),
        form_feed_lines=Occurrences(),
        spaced_rows=0,
        tabbed_rows=0,
    )
    body = frame.drop("line").write_csv(include_header=False, separator="\t", quote_style="never")
    return Columns(
        source=source,
        n_fields=n_fields,
        n_rows=frame.height,
        misshapen=OddLines.of(),
        comments=OddLines.of(),
        facts=facts,
        _body=body.encode(),
        _separator=b"\t",
        _row_lines=frame["line"].to_numpy().astype(np.uint32),
        origin=origin,
    )
