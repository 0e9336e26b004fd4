"""Topics as TSV: ``id TAB text``, all lines at once."""

from __future__ import annotations

import re

import polars as pl

from trectools_plus.formats.numerals import DECIMAL
from trectools_plus.formats.topic_schema import is_header
from trectools_plus.text import quoted, visible
from trectools_plus.validation.registry import FixName
from trectools_plus.validation.topics.fields import no_text
from trectools_plus.validation.topics.view import ENTRIES_SCHEMA, Content, Trouble, Troubles

_ID_AND_TEXT = re.compile(r"""[ ]*([^\s,;:"'{}\[\]<>|]+)[ ]+([^ ].*)""")


# Separated by blanks alone or by tabs alone: a query may well be three words and a number.
_OTHER_KINDS = {
    kind: re.compile("|".join(pattern.replace(" ", blank) for blank in (" +", "\t+")))
    for kind, pattern in (
        ("a run", rf"\S+ (?:[Qq]?0) \S+ -?[0-9]+ {DECIMAL[1:-1]} \S+"),
        ("qrels", r"\S+ [0-9]+ \S+ -?[0-9]+"),
    )
}
_LOOKED_AT = 100
"""Lines that a file of another kind is told by."""


def read_tsv(text: str) -> Content:
    """Read topics from TSV, blank lines and comments left out.

    Args:
        text: The file, without byte order mark.
    """
    troubles = Troubles()
    rows = _rows(text)
    kind = _other_kind(text)
    if kind is not None:
        what = f"no id TAB text, this looks like {kind}"
        remedy = f"Use '{kind.split()[-1].removesuffix('s')}s validate' for it"
        troubles.add("T101", Trouble(rows["line"][0], what, remedy=remedy, fix="no"))
        return Content.empty(troubles)
    rows = rows.filter(~_header(rows, troubles))
    without_tab = rows.filter(pl.col("rest").is_null())
    for line, start in without_tab.select("line", "query_id").iter_rows():
        fix: FixName | None = None if with_tab(start) else "no"
        what = f"no tab between id and text in {quoted(start)}"
        troubles.add("T101", Trouble(line, what, fix=fix))
    rows = rows.filter(pl.col("rest").is_not_null())
    extra = rows.filter(pl.col("rest").str.contains("\t", literal=True))
    for line, query_id, rest in extra.select("line", "query_id", "rest").iter_rows():
        what = "tab inside the text, kept as a blank"
        column = len(query_id) + 2 + rest.index("\t")
        troubles.add("T102", Trouble(line, what, column, query_id))
    entries = rows.select(
        "line",
        "query_id",
        text=pl.col("rest").str.replace_all("\t", " ", literal=True).str.strip_chars(" "),
        text_line="line",
    )
    is_missing = pl.col("query_id").str.strip_chars(" ") == ""
    without_id = entries.filter(is_missing)
    for line, topic in without_id.select("line", "text").iter_rows():
        troubles.add("T105", Trouble(line, f"no id in front of {quoted(topic)}", 1))
    without_text = entries.filter(pl.col("text").str.strip_chars() == "")
    for line, query_id in without_text.select("line", "query_id").iter_rows():
        troubles.add("T121", Trouble(line, no_text(query_id), query_id=query_id))
    ids = pl.when(~is_missing).then("query_id").alias("query_id")
    return Content(entries.with_columns(ids).cast(ENTRIES_SCHEMA), troubles)  # type: ignore[arg-type]


def _other_kind(text: str) -> str | None:
    """``a run`` or ``qrels`` where every line is a row of such a file."""
    lines = [line.rstrip(" \t\r") for line in text.split("\n", _LOOKED_AT)[:_LOOKED_AT]]
    lines = [line for line in lines if line and not line.startswith("#")]
    for kind, row in _OTHER_KINDS.items():
        if lines and all(row.fullmatch(line) for line in lines):
            return kind
    return None


def with_tab(line: str) -> str | None:
    """A line with a tab for the first blanks in it; ``None`` where no id can stand before them.

    Commas, semicolons and quotes in the first word mean that the line is parted by something else.
    """
    match = _ID_AND_TEXT.fullmatch(line)
    return f"{match[1]}\t{match[2]}" if match else None


def _rows(text: str) -> pl.DataFrame:
    """``line, query_id, rest``: lines cut at their first tab; ``rest`` is null without one."""
    lines = pl.Series("line_text", [text]).str.split("\n").explode().str.strip_suffix("\r")
    numbers = pl.int_range(1, lines.len() + 1, dtype=pl.UInt32, eager=True).alias("line")
    # A blank line and a comment are the business of rules for every file; a topic behind '#' is
    # one with an id that cannot stand in a run.
    is_comment = lines.str.starts_with("#") & ~lines.str.contains("\t", literal=True)
    kept = lines.str.contains(r"[^ \t\x0b\x0c]") & ~is_comment
    frame = pl.DataFrame({"line": numbers, "line_text": lines}).filter(kept)
    parts = frame["line_text"].str.splitn("\t", 2).struct.unnest()
    return pl.DataFrame(
        {"line": frame["line"], "query_id": parts["field_0"], "rest": parts["field_1"]}
    )


def _header(rows: pl.DataFrame, troubles: Troubles) -> pl.Series:
    """Which row is a header: the first, if its fields are names; it is noted."""
    flags = pl.repeat(False, rows.height, eager=True)
    if rows.is_empty():
        return flags
    line, query_id, rest = rows.row(0)
    if rest is None or not is_header(query_id, rest):
        return flags
    shown = visible(f"{query_id} {rest}".replace("\t", " "))
    troubles.add("T103", Trouble(line, f"header line '{shown}'", 1))
    return pl.int_range(rows.height, eager=True) == 0
