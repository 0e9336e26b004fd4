"""Rules on any column file as bytes: encoding, line ends, comments, blank lines."""

from __future__ import annotations

from trectools_plus.text import on, plural, quoted
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.rules.hashed import rows_behind_hash
from trectools_plus.validation.shape import has_only_bare_cr, wide_encoding
from trectools_plus.validation.views import TableView

_SURROGATE = 0xED
"""What U+D800 to U+DFFF would begin with, and a byte from 0xA0 on would follow."""

_NOTHING = {"topics": "no topics", "testset": "no test cases"}


@rule(
    "F101",
    "empty-file",
    on="file",
    scope="file",
    severity="error",
    fix="no",
    tables=True,
    checks="no data row after comments and blank lines",
    rationale="An empty run is what a job leaves that was stopped before it wrote. Evaluators "
    "print zeros, or nothing at all, without a word.",
    example="run.txt: error F101: no data rows (2 comment lines). Was the job stopped before "
    "writing?",
    remedy="Was the job stopped before writing?",
)
def empty_file(table: TableView) -> Hit | None:
    """There is nothing to score."""
    if table.n_rows or table.shape.first_line is not None or table.is_chunk:
        return None
    if table.columns is not None and table.columns.facts.stopped_at is not None:
        return None  # F110 says it
    nothing = _NOTHING.get(table.kind, "no data rows")
    if table.columns is None:
        return Hit(nothing)
    n_comments, n_blank = table.columns.comments.height, table.columns.facts.blank_lines.count
    if n_comments and rows_behind_hash(table).height == n_comments:
        return None  # R112 and Q112 say it better
    seen = [plural(n_comments, "comment line")] if n_comments else []
    seen += [plural(n_blank, "blank line")] if n_blank else []
    if not table.columns.facts.n_lines:
        seen = ["the file is empty"]
    return Hit(f"{nothing} ({' and '.join(seen)})" if seen else nothing)


@rule(
    "F102",
    "byte-order-mark",
    on="file",
    scope="file",
    severity="warning",
    fix="safe",
    checks="file starts with EF BB BF",
    rationale="The mark becomes part of the first query id, so that this row belongs to a query "
    "that no qrels know.",
    example="run.txt:1: warning F102: byte order mark before '1'; trec_eval and pytrec_eval would "
    "read query id '\\ufeff1' and lose the row. Save as UTF-8 without BOM.",
    remedy="Save as UTF-8 without BOM",
)
def byte_order_mark(table: TableView) -> Hit | None:
    """The file starts with a byte order mark."""
    columns = table.columns
    if columns is None or not columns.facts.has_bom:
        return None
    fields = columns.line_text(1).split() if columns.facts.n_lines else []
    first = fields[0] if fields else ""
    mark = quoted("\ufeff" + first)
    if table.shape.first_line is None:
        return Hit("byte order mark, and no data behind it", [1])
    if not table.is_by_lines:
        return Hit("byte order mark in front of the text; not every parser takes it", [1])
    who = "trec_eval and pytrec_eval" if table.kind in ("run", "qrels") else "other readers"
    return Hit(
        f"byte order mark before {quoted(first)}; {who} would read query id {mark} and lose "
        "the row",
        [1],
    )


class _FirstBadByte:
    """The first place of all chunks, which is the only one that is reported."""

    def __init__(self) -> None:
        self._found = False

    def add(self, table: TableView) -> Hit | None:
        """Look for the place in a chunk, unless it was in an earlier one."""
        hit = None if self._found else not_utf8.check(table)
        self._found = self._found or hit is not None
        return hit

    def message(self, first: str, count: int) -> str:  # noqa: ARG002
        """Return the message on that place."""
        return first


@rule(
    "F103",
    "not-utf8",
    on="file",
    scope="file",
    severity="error",
    fix="ask",
    checks="bytes that are not UTF-8; UTF-16/32 named by BOM or NUL pattern",
    rationale="Tools decode such bytes differently, or stop: the same document gets several ids.",
    example="run.txt:4: error F103: byte 0xE9 is not UTF-8 (Latin-1?). Convert: iconv -f latin1 "
    "-t utf-8.",
    remedy="Convert: iconv -f latin1 -t utf-8",
    chunk_count=_FirstBadByte,
)
def not_utf8(table: TableView) -> Hit | None:
    """The bytes are not UTF-8."""
    columns = table.columns
    if columns is None:
        return None
    wide = wide_encoding(columns)
    if wide is not None:
        remedy = f"Convert: iconv -f {wide} -t utf-8"
        return Hit(f"the text is {wide.upper()}, not UTF-8", [1], remedy=remedy)
    bad = columns.facts.bad_utf8
    if bad is None:
        return None
    after = columns.source.data[bad.offset + 1 : bad.offset + 2]
    if bad.value == _SURROGATE and after >= b"\xa0":
        return Hit(
            f"byte 0x{bad.value:02X} begins half a surrogate pair, which UTF-8 does not have",
            [bad.line],
            column=bad.column,
            remedy="Write the text anew: its program took UTF-16 for characters",
            fix="no",
        )
    return Hit(f"byte 0x{bad.value:02X} is not UTF-8 (Latin-1?)", [bad.line], column=bad.column)


@rule(
    "F104",
    "crlf",
    on="file",
    scope="file",
    severity="info",
    fix="safe",
    checks="CR LF line ends; warning when mixed with LF",
    rationale="Readers that know only LF keep the CR as part of the last column. Mixed line ends "
    "mean that parts of the file come from different systems.",
    example="run.txt: info F104: CRLF line ends, read as LF. Save with LF line ends.",
    remedy="Save with LF line ends",
)
def crlf(table: TableView) -> Hit | None:
    """Lines end in CR LF."""
    if table.columns is None or not table.columns.facts.n_crlf:
        return None
    n_crlf = table.columns.source.data.count(b"\r\n")
    n_lf = table.columns.source.data.count(b"\n") - n_crlf
    if n_lf:
        message = f"{n_crlf:,} lines end in CRLF and {n_lf:,} in LF; two files joined?"
        return Hit(message, count=n_crlf, severity="warning")
    return Hit("CRLF line ends, read as LF", count=n_crlf)


@rule(
    "F105",
    "bare-cr",
    on="file",
    scope="row",
    severity="error",
    fix="safe",
    checks="CR not followed by LF",
    rationale="Old Macintosh line ends: to trec_eval the whole file is one row. A single CR "
    "inside a row is part of an id for some tools and a line end for others, so only a file whose "
    "line ends are all CR is mended.",
    example="run.txt:1: error F105: line ends are bare CR; trec_eval reads the whole file as one "
    "row. Convert to LF.",
    remedy="Convert to LF: tr '\\r' '\\n'",
)
def bare_cr(table: TableView) -> Hit | None:
    """A CR stands alone."""
    columns = table.columns
    if columns is None or not columns.facts.bare_cr or wide_encoding(columns):
        return None
    marks = columns.facts.bare_cr
    if has_only_bare_cr(columns):
        who = "trec_eval reads" if table.kind in ("run", "qrels") else "other readers take"
        return Hit(
            f"line ends are bare CR; {who} the whole file as one row",
            [1],
            marks.count,
        )
    return Hit(
        f"CR inside a line{on(len(marks.lines), 'line')}; some readers end the line here",
        marks.lines.tolist(),
        marks.count,
        _column_of(table, marks.first, "\r"),
        remedy="Remove it",
        fix="no",
    )


@rule(
    "F106",
    "nul-byte",
    on="file",
    scope="row",
    severity="error",
    fix="no",
    checks="byte 0x00 anywhere",
    rationale="A NUL byte ends a text in C: trec_eval aborts or stops reading there, and scores "
    "what it has. It comes from a damaged disk or an interrupted copy.",
    example="run.txt:2: error F106: NUL byte at column 7; trec_eval aborts or stops reading here. "
    "Remove it and check how the file was copied.",
    remedy="Remove it and check how the file was copied",
)
def nul_byte(table: TableView) -> Hit | None:
    """The file holds a NUL byte."""
    columns = table.columns
    if columns is None or not columns.facts.nul or wide_encoding(columns):
        return None
    marks = columns.facts.nul
    column = _column_of(table, marks.first, "\0")
    several = f" ({marks.count:,} in all)" if marks.count > 1 else ""
    who = "trec_eval aborts or stops" if table.kind in ("run", "qrels") else "some readers stop"
    return Hit(
        f"NUL byte at column {column}{several}; {who} reading here",
        marks.lines.tolist(),
        marks.count,
        column,
    )


@rule(
    "F107",
    "comment-line",
    on="file",
    scope="row",
    severity="warning",
    fix="safe",
    checks="first byte of a line is '#'; an indented '#' is data, so it fails R101/R102",
    rationale="trec_eval 10 skips comments, all other readers stop or take them as data.",
    example="run.txt:5: warning F107: comment line; only trec_eval 10 accepts it. Remove it.",
    remedy="Remove it",
)
def comment_line(table: TableView) -> Hit | None:
    """A line is a comment (and not a row that was commented out)."""
    if table.columns is None or table.shape.verdict == "not-text" or not table.has_comments:
        return None
    hashed = rows_behind_hash(table)["line"]
    comments = table.columns.comments["line"]
    lines = comments.filter(~comments.is_in(hashed.implode()))
    if lines.is_empty():
        return None
    many = f"{lines.len():,} comment lines" if lines.len() > 1 else "comment line"
    them = "them" if lines.len() > 1 else "it"
    accepts = f"only trec_eval 10 accepts {them}"
    if table.kind == "topics":
        accepts = "other readers take it for a topic"
        if lines.len() > 1:
            accepts = "other readers take them for topics"
    remedy = "Remove them" if lines.len() > 1 else None
    return Hit(f"{many}; {accepts}", lines[:10].to_list(), lines.len(), remedy=remedy)


@rule(
    "F108",
    "blank-line",
    on="file",
    scope="row",
    severity="warning",
    fix="safe",
    checks="empty or whitespace-only line",
    rationale="trec_eval skips blank lines in runs and rejects them in qrels; pytrec_eval and "
    "ranx reject them everywhere.",
    example="qrels.txt:5: warning F108: blank line; trec_eval rejects blank lines in qrels, "
    "pytrec_eval and ranx in runs too. Remove it.",
    remedy="Remove it",
)
def blank_line(table: TableView) -> Hit | None:
    """A line is empty."""
    if table.columns is None or not table.columns.facts.blank_lines or not table.is_by_lines:
        return None
    if table.shape.first_line is None:
        return None  # F101 counts them
    blank = table.columns.facts.blank_lines
    many = f"{blank.count:,} blank lines" if blank.count > 1 else "blank line"
    rejected = "trec_eval rejects blank lines in qrels, pytrec_eval and ranx in runs too"
    if table.kind == "topics":
        rejected = "other readers stop there, or take an empty topic"
    return Hit(
        f"{many}; {rejected}",
        blank.lines.tolist(),
        blank.count,
        remedy="Remove them" if blank.count > 1 else None,
    )


@rule(
    "F109",
    "no-final-newline",
    on="file",
    scope="file",
    severity="info",
    fix="safe",
    checks="last byte is not LF",
    rationale="A file that was cut off ends in mid-line too; half a score is a number as well.",
    example="run.txt: info F109: no newline at end of file. Check that the last row is whole.",
    remedy="Check that the last row is whole",
)
def no_final_newline(table: TableView) -> Hit | None:
    """The last line has no line end."""
    columns = table.columns
    if columns is None or columns.facts.final_newline or table.shape.verdict == "not-text":
        return None
    if not table.is_by_lines or columns.facts.stopped_at is not None:
        return None
    return Hit("no newline at end of file")


def _column_of(table: TableView, line: int | None, character: str) -> int | None:
    """Character column, from 1, of the first ``character`` on a line."""
    if table.line_index is None or line is None:
        return None
    return table.line_index.column_of_character(line, character)
