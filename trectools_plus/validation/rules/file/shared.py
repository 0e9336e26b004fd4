"""Shared by rules and fixes of runs and qrels: other formats, places, repeated rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.formats.columns.columns import Origin
from trectools_plus.formats.columns.ids import Flags, Rows
from trectools_plus.text import in_all, number, on, plural, quoted, visible
from trectools_plus.validation.fixes.session import FileDraft, FixSession
from trectools_plus.validation.registry import Hit, Places
from trectools_plus.validation.views.order import Repeats
from trectools_plus.validation.views.tables import Numbers, TableView, fields_of

if TYPE_CHECKING:
    from trectools_plus.formats.interchange.detection import Format
    from trectools_plus.formats.interchange.names import KindName

BEIR_NAMES = ("query-id", "corpus-id", "score")


def too_few_values(table: TableView, origin: Origin) -> Hit | None:
    """Rows of a file in another form that lack a value."""
    short = table.misshapen.filter(table.misshapen.n_fields < origin.n_values)
    if not len(short):
        return None
    n_values = plural(int(short.n_fields[0]), "column")
    names = " ".join(origin.required)
    return Hit(
        f"{n_values}, need {origin.n_values} ({names}){on(len(short), 'line')}",
        short.line.tolist() if origin.has_lines else [],
        len(short),
        remedy="Write a value in each of these columns on every line",
        fix="no",
    )


def too_many_values(table: TableView, origin: Origin) -> Hit | None:
    """Rows of a file in another form with more values than names, or with unmatched quotes."""
    long = table.misshapen.filter(table.misshapen.n_fields > origin.n_values)
    if not len(long):
        return None
    return Hit(
        f"{plural(int(long.n_fields[0]), 'column')}, more than the header names; a value may "
        f"contain the separator{on(len(long), 'line')}",
        long.line.tolist(),
        len(long),
        remedy='Quote values that contain the separator: "a,b"',
        fix="no",
    )


def readable_hit(table: TableView, layout: str) -> Hit:
    """Return the hit for a file that is not in TREC form, but that every command reads."""
    shape = table.shape
    assert table.columns is not None
    assert table.columns.origin is not None
    origin = table.columns.origin
    if shape.header is None:
        message = f"the format is {shape.format}, but {layout}"
    elif origin.required == BEIR_NAMES:
        message = f"BEIR header {quoted(' '.join(BEIR_NAMES))}, three columns, not in TREC form"
    else:
        message = f"{shape.format} with the header {quoted(shape.header[1])}, not in TREC form"
    return Hit(
        "; ".join((message, *origin.notes)),
        [shape.header[0] if shape.header else shape.first_line or 1],
        remedy="Every trectools-plus command reads it; for other tools, "
        + conversion_remedy(table).replace("Convert", "convert"),
        fix="no",
        blocks_scoring=False,
    )


def conversion_remedy(table: TableView, columns: str = "") -> str:
    """Return the command that converts a file to TREC form.

    Args:
        table: The file.
        columns: The columns that it reads; by default those that it finds.
    """
    command, output = ("runs", "run.txt") if table.kind == "run" else ("qrels", "qrels.txt")
    options = f" --columns {columns}" if columns else ""
    return (
        f"Convert it: trectools-plus {command} convert {quote(table.path)}{options} "
        f"--output {output}"
    )


def _kind(table: TableView) -> KindName:
    return "run" if table.kind == "run" else "qrels"


def convertible(table: TableView) -> Format | None:
    """Return the format of a file that only ``runs convert`` or ``qrels convert`` reads."""
    if table.columns is None:
        return None
    from trectools_plus.formats.interchange.detection import find_convertible

    return find_convertible(table.columns.source, _kind(table))


def problem_of_json(table: TableView) -> tuple[str, str | None] | None:
    """Return why a JSON file cannot be read, and what to do if that is known."""
    if table.columns is None:
        return None
    from trectools_plus.formats.interchange.detection import json_problem

    return json_problem(table.columns.source, _kind(table))


ANY = ""
"""A pattern for any field."""

MissingForm = tuple[str, tuple[str, ...], str | None]
"""A form of rows without some columns: a row with them, in which ``{1}`` is the first field; a
pattern of each field; and a description of the change, if it differs from that of the rule."""


def add_missing(
    draft: FileDraft, session: FixSession, code: str, forms: Iterable[MissingForm], otherwise: str
) -> FileDraft:
    """Add the columns that every row of a file lacks.

    Args:
        draft: The file, which has only unparsed lines.
        session: The log.
        code: The rule that is fixed.
        forms: The possible forms of the rows; the first that fits all rows applies.
        otherwise: The reason for not fixing other files.
    """
    lines = draft.view.unparsed_lines
    rows = [fields_of(text) for text in lines.text]
    for row, patterns, what in forms:
        if all(_fits(fields, patterns) for fields in rows):
            session.done(code, len(rows), what)
            # Format strings count from 0.
            texts = [f"{row}\n".format("", *fields) for fields in rows]
            return draft.replaced("".join(texts).encode(), lines.line)
    session.skip(code, otherwise)
    return draft


def _fits(fields: Sequence[str], patterns: Sequence[str]) -> bool:
    return len(fields) == len(patterns) and all(
        re.match(pattern, text) for pattern, text in zip(patterns, fields, strict=True)
    )


def number_text(table: TableView, row: int, field: int, value: float) -> str:
    """Return a number of a row as the file writes it, or a ``value`` of a table."""
    return number(value) if table.columns is None else table.text(row, field)


def returning_queries(table: TableView) -> Places:
    """Return the rows at which a query continues after another."""
    if not table.blocks.interleaved:
        return Places()
    rows = table.blocks.repeated_starts
    return table.places(rows, before=lambda row: table.query_id(row - 1))


def continues_after(found: Places) -> str:
    """Return the message on :func:`returning_queries`."""
    query_id, before = visible(str(found.query_id)), visible(str(found["before"]))
    return f"query {query_id} continues after query {before}{in_all(found.count, 'such place')}"


def of_same_document(repeats: Repeats, flags: Flags) -> Flags:
    """Flag all repeats of a document that has a flagged one."""
    return np.isin(repeats.first, repeats.first[flags])


def all_but_one(repeats: Repeats, how: str, values: Numbers) -> Rows:
    """Return the rows to drop so that one row of each repeated document stays.

    Args:
        repeats: All repeats of some documents.
        how: The row to keep: the one with the highest value (``best`` or ``max``), with the lowest
            (``min``), the ``first`` or the ``last``. Of rows with equal values, the first stays.
        values: The score or grade of each row of the file.
    """
    firsts = np.unique(repeats.first)
    rows = np.concatenate([firsts, repeats.row])
    document = np.concatenate([firsts, repeats.first])
    keys = {"min": values[rows], "first": rows, "last": -rows}
    order = np.lexsort((rows, keys.get(how, -values[rows]), document))
    _, first = np.unique(document[order], return_index=True)
    dropped: Rows = np.delete(rows, order[first])
    return dropped
