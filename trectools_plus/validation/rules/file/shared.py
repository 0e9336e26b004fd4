"""Cases and fixes that rules on runs and on qrels share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from shlex import quote

import numpy as np

from trectools_plus.formats.columns.facts import OddLines
from trectools_plus.validation.registry import Case, Rule, Subject
from trectools_plus.validation.views.order import Pairs
from trectools_plus.validation.views.places import Places, Value
from trectools_plus.validation.views.tables import TableView


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


def converted_with(columns: str) -> Callable[[TableView, Places], Mapping[str, Value]]:
    """Return a function that shows the command that reads other columns."""
    return lambda table, _: {"convert": conversion_remedy(table, columns)}


def values_of_rows(table: TableView, *, few: bool) -> OddLines:
    """Return rows of a file in another form with too few or too many values."""
    lines, origin = table.misshapen, table.columns and table.columns.origin
    if not origin:
        return OddLines.of()
    n_values = len(origin.required)
    return lines.filter(lines.n_fields < n_values if few else lines.n_fields > n_values)


def values_needed(table: TableView, _: Places) -> Mapping[str, Value]:
    """Return the names of the values that each row of a file in another form must have."""
    assert table.file.origin is not None
    return {"names": " ".join(table.file.origin.required)}


few_values = Case(
    "error",
    "{n_fields:column}, need {names}[ (on {count} lines)]",
    partial(values_of_rows, few=True),
    shows=values_needed,
    remedy="Write a value in each of these columns on every line",
    fix="no",
)
many_values = Case(
    "error",
    "{n_fields:column}, more than the header names[ (on {count} lines)]",
    partial(values_of_rows, few=False),
    remedy='Quote values that contain the separator: "a,b"',
    fix="no",
)


def short_rows(table: TableView) -> OddLines:
    """Return rows of a file in TREC form with too few fields."""
    lines = table.misshapen
    return lines.filter(lines.n_fields < (0 if table.is_arranged else table.file.n_fields))


def long_rows(table: TableView) -> OddLines:
    """Return rows of a file in TREC form with too many fields."""
    lines = table.misshapen
    return lines.filter((lines.n_fields > table.file.n_fields) & (not table.is_arranged))


def form_of_file(table: TableView, _: Places) -> Mapping[str, Value]:
    """Return the format of a file that is not in TREC form, and the command that converts it."""
    notes = "".join(f"; {note}" for note in table.file.origin.notes) if table.file.origin else ""
    shown = {"format": str(table.shape.format), "notes": notes}
    return {**shown, "convert": conversion_remedy(table)}


readable = partial(
    Case,
    "error",
    shows=form_of_file,
    remedy="Every trectools-plus command reads it; for other tools: {convert}",
    fix="no",
    blocks=False,
)
"""The case of a file that is not in TREC form, but that every command reads."""

in_other_form = readable(
    "the format is {format}, not columns separated by blanks{notes}",
    lambda table: table.first_place(if_=table.is_arranged and table.shape.header is None),
)
"""The case of a file in another form without a header, for example JSON."""


def header_line(table: TableView, *, arranged: bool) -> Places:
    """Return the line that names the columns, of a file in another form or in TREC form."""
    if table.shape.header is None or table.is_arranged != arranged:
        return Places()
    line, text = table.shape.header
    return Places(1, [line], first={"text": " ".join(text.split())})


header = partial(
    Case,
    "error",
    where=partial(header_line, arranged=False),
    blocks=lambda table: table.header_may_be_data,
)
"""The case of a line that names the columns, of a file in TREC form."""

header_of_table = readable(
    "{format} with the header {text!q}, not in TREC form{notes}",
    partial(header_line, arranged=True),
    note="",
)
"""The case of a file in another form that has a header."""


def row_behind_hash(code: str, on: Subject, row: str) -> Rule:
    """Return the rule on comment lines that look like rows."""
    case = partial(Case, where=lambda table: table.commented_out_rows)
    return Rule(
        code,
        "row-behind-hash",
        on,
        "warning",
        checks="comment line that looks like a row; error if all rows do",
        rationale="A line that begins with '#' is a comment to trec_eval 10 and to this package, "
        f"but {row} to every other reader.",
        example=f"{'run' if on == 'run' else 'qrels'}.txt:1: error {code}: all rows start with "
        "'#'. Rename the ids if they start with '#'.",
        remedy="Rename the id if it starts with '#'",
        blocks_fixing=True,
        cases=(
            case(
                "error",
                "all rows start with '#'",
                given=lambda table, _: not table.n_rows and table.shape.first_line is None,
                remedy="Rename the ids if they start with '#'",
            ),
            case("warning", "{text!q} is skipped as a comment[ (and {more} more)]"),
        ),
    )


def returning_queries(table: TableView) -> Pairs:
    """Return the rows at which a query continues after another."""
    rows = np.setdiff1d(table.blocks.starts, table.blocks.first_rows)
    return Pairs(rows, rows - 1)


CONTINUES = "query {query_id!v} continues after query {other_query_id!v}[ ({count} places in all)]"
"""The message on :func:`returning_queries`."""
