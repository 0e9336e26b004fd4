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
from trectools_plus.formats.columns.facts import Occurrences
from trectools_plus.formats.columns.numbers import parse_decimals
from trectools_plus.formats.columns.odd_lines import OddLines
from trectools_plus.formats.files.source import Source
from trectools_plus.formats.interchange.delimited import Header, Table
from trectools_plus.formats.interchange.names import (
    JUDGMENT_TYPES,
    QRELS_FIELDS,
    RUN_FIELDS,
    SYSTEMS,
    ColumnNames,
    find_fields,
)
from trectools_plus.formats.interchange.systems import Systems, find_systems
from trectools_plus.formats.writing import tag_of_path

RUN_COLUMNS = ("query_id", "q0", "doc_id", "rank", "score", "tag")
QRELS_COLUMNS = ("query_id", "iteration", "doc_id", "relevance")

MISSHAPEN = {"line": pl.UInt32, "n_fields": pl.UInt32, "text": pl.String}

RANK_AS_SCORE = "the ranks give the order, because there are no scores"
"""The note on a run whose scores are the negated ranks."""

_UNWRITABLE = r"[\t\n\r]"
_RANK = r"^\+?[0-9]+(?:\.0*)?$"


def text_of(source: Source) -> str:
    """Return the text of a file without byte order mark; U+FFFD replaces invalid bytes."""
    return source.data.decode("utf-8", "replace").removeprefix("\ufeff")


def run_fields(names: Sequence[str], columns: ColumnNames | None = None) -> dict[str, int] | None:
    """Return the places of the fields in the header of a run; ``None`` for another header."""
    found = find_fields(names, RUN_FIELDS, columns)
    complete = {"query_id", "doc_id"} <= found.keys() and bool({"score", "rank"} & found.keys())
    return found if complete else None


def qrels_fields(names: Sequence[str], columns: ColumnNames | None = None) -> dict[str, int] | None:
    """Return the places of the fields in the header of qrels; ``None`` for another header."""
    if columns is None and "rank" in find_fields(names, RUN_FIELDS):
        return None
    found = find_fields(names, QRELS_FIELDS, columns)
    return found if {"query_id", "doc_id", "relevance"} <= found.keys() else None


def arrange_run_table(
    source: Source, table: Table, label: str, columns: ColumnNames | None = None
) -> Columns:
    """Arrange a table with named columns as a run.

    Args:
        source: The file.
        table: Its rows.
        label: The name of the format.
        columns: The columns of some fields.
    """
    places = run_fields(table.header.names, columns)
    assert places is not None
    value = "score" if "score" in places else "rank"
    required = ("query_id", "doc_id", value)
    frame, misshapen = _complete(table, places, required)
    notes = [] if value == "score" else [RANK_AS_SCORE]
    candidates = {table.header.names[places["tag"]]: "tag"} if "tag" in places else {}
    candidates |= _further(table.header, places)
    origin = _origin(table, places, required, RUN_COLUMNS, label)
    return arrange_run(
        source,
        frame,
        misshapen=misshapen,
        comments=table.comments,
        origin=replace(origin, notes=tuple(notes)),
        candidates=candidates,
        system="tag" if columns is not None and "tag" in columns else None,
    )


def arrange_qrels_table(
    source: Source, table: Table, label: str, columns: ColumnNames | None = None
) -> Columns:
    """Arrange a table with named columns as qrels; see :func:`arrange_run_table`."""
    places = qrels_fields(table.header.names, columns)
    assert places is not None
    required = ("query_id", "doc_id", "relevance")
    frame, misshapen = _complete(table, places, required)
    return arrange_qrels(
        source,
        frame,
        misshapen=misshapen,
        comments=table.comments,
        origin=_origin(table, places, required, QRELS_COLUMNS, label),
        candidates=_further(table.header, places),
    )


def _further(header: Header, places: Mapping[str, int]) -> dict[str, str]:
    """Return the columns of a table that stand for no field, by name."""
    used = set(places.values())
    return {
        name: f"c{place + 1}"
        for place, name in enumerate(header.names)
        if place not in used and name
    }


def _complete(
    table: Table, places: dict[str, int], required: tuple[str, ...]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows with all required values, by field, and all other rows."""
    texts = {field: f"c{place + 1}" for field, place in places.items()}
    further = [name for name in table.rows.columns[1:] if name not in texts.values()]
    frame = table.rows.select(
        "line", **{field: pl.col(name) for field, name in texts.items()}, **_same(further)
    )
    is_empty = [pl.col(field) == "" for field in required]
    is_split = pl.any_horizontal(pl.col(field).str.contains(_UNWRITABLE) for field in texts)
    wrong = frame.select(pl.any_horizontal(*is_empty) | is_split).to_series()
    if not wrong.any():
        return frame, table.misshapen
    values = [f"c{number}" for number in range(1, len(table.header.names) + 1)]
    separator = table.header.separator
    found = table.rows.filter(wrong).with_columns(frame.filter(wrong).select(list(texts)))
    too_few = found.select(
        "line",
        n_fields=pl.when(pl.any_horizontal(*is_empty))
        .then(len(required) - pl.sum_horizontal(*is_empty))
        .otherwise(len(values) + 1),
        text=pl.concat_str(values, separator=separator),
    ).cast(MISSHAPEN)  # type: ignore[arg-type]
    return frame.filter(~wrong), pl.concat([table.misshapen, too_few]).sort("line")


def _same(names: Sequence[str]) -> dict[str, pl.Expr]:
    return {name: pl.col(name) for name in names}


def _origin(
    table: Table,
    places: dict[str, int],
    required: tuple[str, ...],
    columns: tuple[str, ...],
    label: str,
) -> Origin:
    header = table.header
    origin = Origin(
        label,
        (header.line, header.text) if header.line else None,
        tuple(header.names[places[field]] for field in required),
        left_out=tuple(_further(header, places)),
    )
    if not header.separator:
        return replace(origin, has_lines=False)
    return replace(
        origin,
        places={columns.index(field) + 1: place for field, place in places.items()},
        split=header.split,
        column_of=header.column_of,
    )


def arrange_run(
    source: Source,
    frame: pl.DataFrame,
    *,
    misshapen: pl.DataFrame | None = None,
    comments: pl.DataFrame | None = None,
    origin: Origin,
    candidates: Mapping[str, str] | None = None,
    system: str | None = None,
) -> Columns:
    """Arrange values as the six columns of a run.

    Without ranks, results are numbered by falling score. Without scores, the negated ranks are the
    scores. If a further column names systems, the results of each are arranged as a run too.

    Args:
        source: The file.
        frame: Texts ``query_id``, ``doc_id``, ``score`` or ``rank`` or both, optionally ``tag``,
            and ``line``; and further columns.
        misshapen: ``line, n_fields, text`` of rows without a required value.
        comments: ``line, text`` of comments.
        origin: The layout of the file.
        candidates: The names in the file of columns of ``frame`` that may name systems.
        system: The column that names systems, if the user said so.
    """
    candidates = candidates or {}
    systems: Systems | None
    if system is not None:
        name = next(name for name, column in candidates.items() if column == system)
        named = tuple(frame[system].unique(maintain_order=True).to_list())
        systems = Systems((name,), named, is_clear=True) if len(named) > 1 else None
    else:
        systems = find_systems(frame, candidates, SYSTEMS)
    parts: dict[str, Columns] = {}
    if systems is not None:
        origin = replace(origin, systems=systems)
        if systems.is_clear:
            (name,) = systems.columns
            frame = frame.with_columns(tag=pl.col(candidates[name]))
            origin = replace(origin, left_out=tuple(o for o in origin.left_out if o != name))
            parts = {
                value: arrange_run(
                    source,
                    frame.filter(pl.col("tag") == value),
                    origin=replace(origin, systems=None),
                )
                for value in systems.values
            }
    if "score" not in frame.columns:
        negated = pl.format("-{}", pl.col("rank").str.strip_chars_start("+"))
        frame = frame.with_columns(
            score=pl.when(pl.col("rank").str.contains(_RANK)).then(negated).otherwise("rank")
        )
    elif "rank" not in frame.columns or (frame["rank"] == "").any():
        ranks = pl.col("value").rank("ordinal", descending=True).over("query_id")
        values = frame.select("query_id", value=parse_decimals(frame["score"]))
        frame = frame.with_columns(rank=values.select(ranks.fill_null(0)).to_series())
    tag = tag_of_path(source.path)
    if "tag" in frame.columns:
        written = pl.when(pl.col("tag") == "").then(pl.lit(tag)).otherwise("tag")
        written = written.str.replace_all(r"[ \t\x0b\x0c]+", "_")
    else:
        written = pl.lit(tag)
    frame = frame.select(
        "line", "query_id", pl.lit("Q0").alias("q0"), "doc_id", "rank", "score", tag=written
    )
    return replace(_columns(source, frame, misshapen, comments, origin), systems=parts)


def arrange_qrels(
    source: Source,
    frame: pl.DataFrame,
    *,
    misshapen: pl.DataFrame | None = None,
    comments: pl.DataFrame | None = None,
    origin: Origin,
    candidates: Mapping[str, str] | None = None,
) -> Columns:
    """Arrange values as the four columns of qrels; see :func:`arrange_run`.

    Args:
        source: The file.
        frame: Texts ``query_id``, ``doc_id``, ``relevance``, optionally ``iteration``, and
            ``line``.
        misshapen: ``line, n_fields, text`` of rows without a required value.
        comments: ``line, text`` of comments.
        origin: The layout of the file.
        candidates: The names in the file of columns of ``frame`` that may be types of judgment.
    """
    types = find_systems(frame, candidates or {}, JUDGMENT_TYPES)
    if types is not None and _has_conflicts(frame):
        origin = replace(origin, systems=types)
    if "iteration" in frame.columns:
        written = pl.col("iteration").str.replace_all(r"[ \t\x0b\x0c]+", "_")
        iteration = pl.when(written == "").then(pl.lit("0")).otherwise(written)
    else:
        iteration = pl.lit("0")
    frame = frame.select("line", "query_id", "doc_id", "relevance", iteration=iteration)
    return _columns(source, frame.select("line", *QRELS_COLUMNS), misshapen, comments, origin)


def _has_conflicts(frame: pl.DataFrame) -> bool:
    """Return whether a document has several grades for a query."""
    judged = frame.select("query_id", "doc_id", "relevance").hash_rows().n_unique()
    return bool(judged > frame.select("query_id", "doc_id").hash_rows().n_unique())


def _columns(
    source: Source,
    frame: pl.DataFrame,
    misshapen: pl.DataFrame | None,
    comments: pl.DataFrame | None,
    origin: Origin,
) -> Columns:
    n_fields = len(frame.columns) - 1
    if source.is_parquet:
        source = replace(source, data=b"")
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
        misshapen=OddLines.of_frame(misshapen),
        comments=OddLines.of_frame(comments),
        facts=facts,
        _body=body.encode(),
        _separator=b"\t",
        _row_lines=frame["line"].to_numpy().astype(np.uint32),
        origin=origin,
    )
