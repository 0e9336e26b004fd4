"""Cases and fixes that rules on runs and on qrels share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.formats.columns.facts import OddLines
from trectools_plus.text import quoted
from trectools_plus.validation.registry import Case, Rule, Subject
from trectools_plus.validation.views.order import Pairs
from trectools_plus.validation.views.places import Places, Value
from trectools_plus.validation.views.tables import TableView

if TYPE_CHECKING:
    from trectools_plus.formats.interchange.detection import Format

BEIR_NAMES = ("query-id", "corpus-id", "score")
"""The header of BEIR's judgments."""


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


def convertible(table: TableView) -> Format | None:
    """Return the format of a file that only ``runs convert`` or ``qrels convert`` reads."""
    if table.columns is None:
        return None
    from trectools_plus.formats.interchange.detection import find_convertible

    return find_convertible(table.columns.source, "run" if table.kind == "run" else "qrels")


def problem_of_json(table: TableView) -> tuple[str, str | None] | None:
    """Return why a JSON file cannot be read, and what to do if that is known."""
    if table.columns is None:
        return None
    from trectools_plus.formats.interchange.detection import json_problem

    return json_problem(table.columns.source, "run" if table.kind == "run" else "qrels")


def value_case(*, few: bool) -> Case:
    """Return the case of rows of a file in another form with too few or too many values."""

    def lines(table: TableView) -> OddLines:
        if table.columns is None or table.columns.origin is None:
            return OddLines.of()
        lines, n_values = table.misshapen, table.columns.origin.n_values
        return lines.filter(lines.n_fields < n_values if few else lines.n_fields > n_values)

    if not few:
        message = "{n_fields:column}, more than the header names; a value may contain the separator"
        remedy = 'Quote values that contain the separator: "a,b"'
        return Case("error", message + "[ (on {count} lines)]", lines, remedy=remedy, fix="no")
    return Case(
        "error",
        "{n_fields:column}, need {n_values} ({names})[ (on {count} lines)]",
        lines,
        shows=lambda table, _: {
            "n_values": table.columns.origin.n_values,
            "names": " ".join(table.columns.origin.required),
        },
        remedy="Write a value in each of these columns on every line",
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


def _arranged(table: TableView, _: Places) -> Mapping[str, Value]:
    assert table.columns is not None
    assert table.columns.origin is not None
    origin, convert = table.columns.origin, conversion_remedy(table).replace("Convert", "convert")
    header = quoted(table.shape.header[1]) if table.shape.header else ""
    if origin.required == BEIR_NAMES:
        header = f"{quoted(' '.join(BEIR_NAMES))}, three columns"
    notes = "".join(f"; {note}" for note in origin.notes)
    return {"format": origin.format, "header": header, "notes": notes, "convert": convert}


readable = partial(
    Case,
    "error",
    shows=_arranged,
    remedy="Every trectools-plus command reads it; for other tools, {convert}",
    fix="no",
    blocks=False,
)
"""The case of a file that is not in TREC form, but that every command reads."""


def readable_without_header(layout: str) -> Case:
    """Return the case of a file in another form without a header, for example JSON."""
    return readable(
        f"the format is {{format}}, but {layout}{{notes}}",
        lambda table: table.first_place(if_=table.is_arranged and table.shape.header is None),
    )


def other_format_cases(layout: str) -> tuple[Case, ...]:
    """Return the cases of a file in another format than columns."""

    def reason(table: TableView, _: Places) -> Mapping[str, Value]:
        problem = None if convertible(table) else problem_of_json(table)
        why, remedy = problem or ("", None)
        return {
            "format": str(table.shape.format),
            "why": f"; it is not read: {why}" if why else f", but {layout}",
            "do": remedy or conversion_remedy(table),
        }

    other = partial(
        Case,
        "error",
        "the format is {format}{why}",
        lambda table: table.first_place(if_=table.shape.verdict == "other-format"),
        shows=reason,
    )

    def has_remedy(table: TableView, _: Places) -> bool:
        return bool(convertible(table)) or (problem_of_json(table) or ("", None))[1] is not None

    return readable_without_header(layout), other(given=has_remedy, remedy="{do}"), other()


def header_line(table: TableView) -> Places:
    """Return the line that names the columns, of a file in TREC form."""
    if table.shape.header is None or table.is_arranged:
        return Places()
    line, text = table.shape.header
    return Places(1, [line], first={"text": " ".join(text.split())})


def _header_of_table(table: TableView) -> Places:
    is_read = table.is_arranged and table.shape.header is not None
    return Places(int(is_read), [table.shape.header[0]] if table.shape.header else ())


header = partial(Case, "error", where=header_line, blocks=lambda table: table.header_may_be_data)
"""The case of a line that names the columns, of a file in TREC form."""

header_of_table = readable(
    "{format} with the header {header}, not in TREC form{notes}", _header_of_table, note=""
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
    rows = table.blocks.repeated_starts if table.blocks.interleaved else np.empty(0, np.int64)
    return Pairs(rows, rows - 1)


CONTINUES = "query {query_id!v} continues after query {other_query_id!v}[ ({count} places in all)]"
"""The message on :func:`returning_queries`."""
