"""Arrange a table from another format as the columns of a run or of qrels.

The result is a :class:`Columns`, like that of a TREC file, so that the same rules apply and
findings have the lines of the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from trectools_plus.formats.columns.columns import NO_LINES, Columns, OddLines, Origin, scan_columns
from trectools_plus.formats.columns.decimals import parse_column
from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.interchange.names import (
    JUDGMENT_TYPES,
    RUN,
    SYSTEMS,
    ColumnNames,
    ColumnValue,
    Kind,
    normalize,
    value_of_column,
)
from trectools_plus.formats.interchange.table_files import HeadedTable, Header
from trectools_plus.formats.writing import tag_of_path
from trectools_plus.text import listed, plural, quoted


def arrange_table(
    source: FileContent, kind: Kind, table: HeadedTable, columns: ColumnNames | None = None
) -> Columns:
    """Arrange a table with named columns as a run or qrels.

    In a run without ranks, results are numbered by falling score. Without scores, the negated
    ranks are the scores. A judgment without a rating is none.

    Args:
        source: The file.
        kind: The kind of file.
        table: Its rows.
        columns: The columns that the user names, which can be negated or split.
    """
    columns, header = columns or {}, table.header
    names = {field: header.names[place] for field, place in table.places.items()}
    value = kind.value_in(names)
    assert value is not None
    required = ("query_id", "doc_id", value)
    frame, unjudged = _judged(table, columns, value)
    notes = (*table.notes, *unjudged)
    frame, incomplete = _split_incomplete(frame, table, required)
    if kind is RUN:
        frame, notes = _add_scores_and_ranks(frame, notes)
    further = {
        name: f"c{place + 1}"
        for place, name in enumerate(header.names)
        if place not in table.places.values() and name
    }
    plain = [normalize(name) for name in header.names]
    unclear = (
        names[field]
        for field in required
        if field not in columns and plain.count(normalize(names[field])) > 1
    )
    origin = Origin(
        tuple(names[field] for field in required),
        notes,
        left_out=tuple(further),
        repeated=next(unclear, ""),
        note="figures are those of the other judgments" if unjudged else "",
        columns={**names, **columns},
        has_lines=table.has_lines,
        systems=_find_systems(frame, kind, {names.get("tag", ""): "tag", **further}),
    )
    return replace(
        _as_columns(source, kind, frame, header),
        misshapen=table.misshapen + incomplete,
        comments=table.comments,
        origin=origin,
    )


def _as_columns(source: FileContent, kind: Kind, frame: pl.DataFrame, header: Header) -> Columns:
    """Return rows as the columns of a file, without facts on blanks between its values."""
    defaults = {"q0": "Q0", "iteration": "0", "tag": tag_of_path(source.path)}
    frame = frame.with_columns(
        **{name: _words(frame, name, default) for name, default in defaults.items()}
    ).select("line", *kind.columns)
    file = scan_columns(
        replace(source, data=b"") if source.is_parquet else source, len(kind.columns)
    )
    body = frame.drop("line").write_csv(include_header=False, separator="\t", quote_style="never")
    return replace(
        file,
        blank_lines=NO_LINES if '"' in header.text else file.blank_lines,
        n_loose=0,
        form_feed_lines=NO_LINES,
        has_spaces=False,
        has_tabs=False,
        n_rows=frame.height,
        body=body.encode(),
        is_ascii=body.isascii(),
        has_controls=re.search(r"[\x01-\x08\x0b-\x1f]", body) is not None,
        separator=b"\t",
        row_lines=frame["line"].to_numpy().astype(np.uint32),
        format=header.format,
        header=(header.line, header.text) if header.line else None,
    )


def _judged(table: HeadedTable, columns: ColumnNames, value: str) -> tuple[pl.DataFrame, list[str]]:
    """Return the rows with the values of fields, and notes on what is not judged: no rating."""
    names = table.header.names
    values = {field: value_of_column(names, name) for field, name in columns.items()}
    frame = table.rows.with_columns(
        **{
            field: _value(pl.col(f"c{place + 1}"), values.get(field), values)
            for field, place in table.places.items()
        }
    )
    is_judged = value == "relevance" and not table.header.separator  # not rows of text
    has_unrated = is_judged or normalize(names[table.places[value]]) == "rating"
    rated = frame.filter(pl.col(value) != "") if has_unrated else frame
    n_unrated = frame.height - rated.height
    note = f"{plural(n_unrated, 'row')} without a rating left out, because they are not judged"
    return rated, [note] if n_unrated else []


def _value(
    column: pl.Expr, value: ColumnValue | None, values: Mapping[str, ColumnValue | None]
) -> pl.Expr:
    """Return the value of a field; empty if a column does not have the parts that are named."""
    if value is None:
        return column
    if value.is_negated:
        column = pl.format("-{}", column).str.replace(r"^--[+-]*|^-$", "")
        return column.str.replace(r"^-\+[+-]*", "-")
    if not value.separator:
        return column
    parts = column.str.split(value.separator)
    n_parts = max(other.part for other in values.values() if other and other.place == value.place)
    part = parts.list.get(value.part - 1, null_on_oob=True)
    return pl.when(parts.list.len() == n_parts).then(part).otherwise(pl.lit(""))


def _split_incomplete(
    frame: pl.DataFrame, table: HeadedTable, required: Sequence[str]
) -> tuple[pl.DataFrame, OddLines]:
    """Return the rows with all required values, and all others."""
    n_empty = pl.sum_horizontal(pl.col(field) == "" for field in required)
    is_split = pl.any_horizontal(pl.col(*table.places).str.contains(r"[\t\n\r]"))
    is_wrong = frame.select((n_empty > 0) | is_split).to_series()
    names = table.rows.columns[1:]
    wrong = frame.filter(is_wrong).select(
        "line",
        n_fields=pl.when(n_empty > 0).then(len(required) - n_empty).otherwise(len(names) + 1),
        text=pl.concat_str(names, separator=table.header.separator or " "),
    )
    return frame.filter(~is_wrong), OddLines.of_frame(wrong)


def _add_scores_and_ranks(
    frame: pl.DataFrame, notes: tuple[str, ...]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return a run with scores and ranks, and the notes on them."""
    if "score" not in frame.columns:
        # A rank below 0 becomes no number.
        frame = frame.with_columns(score=pl.col("rank").str.replace(r"^\+?([0-9.-].*)$", "-${1}"))
        notes = (*notes, "the ranks give the order, because there are no scores")
    if "rank" not in frame.columns or (frame["rank"] == "").any():
        ranks = pl.col("value").rank("ordinal", descending=True).over("query_id")
        scores = parse_column(frame["score"])
        frame = frame.with_columns(value=scores.fill_null(-np.inf)).with_columns(rank=ranks)
    return frame, notes


def _find_systems(rows: pl.DataFrame, kind: Kind, columns: Mapping[str, str]) -> str | None:
    """Return the column that may name systems: ``column 'model' (BM25, DPH)``.

    Args:
        rows: The rows, as texts.
        kind: The kind of file, which decides the usual names of such a column.
        columns: The columns in ``rows`` by their names in the file.

    Returns:
        The column, of which a query has several values, and in qrels a document several grades;
        ``None`` if there is none.
    """
    usual = set(map(normalize, SYSTEMS if kind is RUN else JUDGMENT_TYPES))
    for name, column in columns.items():
        if normalize(name) in usual:
            n_queries, n_pairs, n_documents, n_judgments = (
                rows.select("query_id", *further).hash_rows().n_unique()
                for further in ([], [column], ["doc_id"], ["doc_id", *kind.required[-1:]])
            )
            if n_queries < n_pairs and (kind is RUN or n_documents < n_judgments):
                values = rows[column].unique(maintain_order=True).to_list()
                return f"column {quoted(name)} ({listed(values, 5)})"
    return None


def _words(frame: pl.DataFrame, name: str, default: str) -> pl.Expr:
    """Return a column whose values are one word each, with a default for empty ones."""
    if name not in frame.columns:
        return pl.lit(default)
    return pl.col(name).replace("", default).str.replace_all(r"[ \t\x0b\x0c]+", "_")
