"""Rules on the bytes and lines of any file, and cases that rules on runs and on qrels share."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from trectools_plus.formats.columns.columns import LONG_LINE_BYTES, OddLines
from trectools_plus.formats.columns.ids import Rows
from trectools_plus.formats.files.content import BOM
from trectools_plus.formats.files.limits import MAX_LINE_BYTES
from trectools_plus.formats.files.opening import SUFFIXES
from trectools_plus.text import listed
from trectools_plus.validation.registry import Case, Rule, Texts, rule
from trectools_plus.validation.views.places import NO_PAIRS, Pairs, Places
from trectools_plus.validation.views.tables import (
    TableView,
    fields_of,
    has_only_bare_cr,
    has_wide_encoding,
    is_row,
)


def at_start(test: Callable[[Any], object]) -> Callable[[TableView], Places]:
    """Return a function that returns the first line with data if a file passes a test."""
    return lambda table: Places(int(bool(test(table))), [table.file.first_line or 1])


def misnamed(table: TableView) -> Places:
    """Return the compression of the content if the name of a file does not match it."""
    compression = table.file.source.compression
    is_other = compression != SUFFIXES.get(Path(table.path).suffix.lower()) and table.path != "-"
    return Places(int(is_other), first={"compression": compression or "none"})


def bad_byte(table: TableView) -> Places:
    """Return the first byte that is not UTF-8."""
    bad = table.file.bad_utf8
    if bad is None or has_wide_encoding(table.file):
        return Places()
    return Places(1, [bad.line], bad.column, first={"byte": f"0x{bad.value:02X}"})


def marks(table: TableView, character: str) -> Places:
    """Return the places of a character that tools read differently: CR within a line, or NUL."""
    found = table.file.bare_cr if character == "\r" else table.file.nul
    if has_wide_encoding(table.file) or not len(found):
        return Places()
    column = table.file.line_text(int(found[0])).find(character) + 1 or None
    return Places(len(found), np.unique(found), column, first={"at": column or 0})


def no_data(table: TableView) -> bool:
    """Return whether the file has no data, unless F110, R112 or Q112 report the reason."""
    if table.n_rows or table.file.first_line is not None:
        return False
    if table.columns is None:
        return True
    is_explained = len(table.commented_out_rows) == len(table.columns.comments) > 0
    return table.file.stopped_at is None and not is_explained


def comment_lines(table: TableView) -> OddLines:
    """Return comments that are not rows that are commented out."""
    if table.file.verdict == "not-text" or not table.has_comments:
        return OddLines.of()
    comments = table.file.comments
    return comments.filter(~np.isin(comments.line, table.commented_out_rows.line))


def long_lines(table: TableView) -> Places:
    """Return long lines, the longest first, unless line ends have no meaning."""
    file = table.file
    lines = dict.fromkeys((file.longest_line_at or 1, *file.long_lines.tolist()))
    return Places(len(file.long_lines) if table.is_line_based else 0, list(lines))


# Cases and rules that runs and qrels share

form_feeds = Case(
    "warning",
    "form feed or vertical tab between columns; not every reader splits there",
    lambda table: Places(len(table.file.form_feed_lines), table.file.form_feed_lines),
    given=lambda table, _: table.file.has_rows,
)


def short_lines(table: TableView) -> OddLines:
    """Return rows with too few fields; an invisible character may join two of a run."""
    short = table.misshapen.filter(table.misshapen.n_fields < n_needed(table))
    if table.origin or table.kind == "qrels":
        return short
    return short.filter([not INVISIBLE.search(text.encode()) for text in short.text])


def long_rows(table: TableView) -> OddLines:
    """Return rows with too many fields."""
    return table.misshapen.longer(n_needed(table))


def n_needed(table: TableView) -> int:
    """Return the number of values that each row must have."""
    return len(table.origin.required) if table.origin else table.file.n_fields


few_values = partial(
    Case, "error", "{n_fields:column}, need {view.layout}[ (on {count} lines)]", short_lines
)


in_other_form = partial(
    Case,
    "error",
    remedy="Every trectools-plus command reads it; for other tools: {view.conversion} --output OUT",
    fixable=False,
    blocks=False,
    note="{view.origin.note}",
)
"""The case of a file that is not in TREC form, but that every command reads."""

without_header = in_other_form(
    "the format is {view.file.format}, not columns separated by blanks{view.form_notes}",
    at_start(lambda table: table.file.verdict == "arranged" and table.file.header is None),
)


def other_format(table: TableView) -> Places:
    """Return the first line of a file in another form, why it is not read, and what to do."""
    if table.file.verdict != "other-format":
        return Places()
    from trectools_plus.formats.interchange.detection import json_problem, text_of
    from trectools_plus.formats.interchange.table_files import find_header

    problem = json_problem(table.file.source, "run" if table.kind == "run" else "qrels")
    why = "a run has six columns separated by spaces or tabs"
    line, remedy = table.file.first_line, "Write 'qid Q0 docid rank score tag' on each line"
    if problem:
        why, line, remedy = problem.what, problem.line, problem.remedy or "Write the file again"
    if header := find_header(text_of(table.file.source), lambda _: True):
        columns = "query=COLUMN,doc_id=COLUMN,score=COLUMN"
        if is_row(" ".join(header.names), "run"):
            columns = "query=1,doc_id=3,score=5"
        remedy = (
            f"{table.conversion} --columns {columns} --output OUT, where the file has the columns "
            f"{listed(header.names, 20)}"
        )
    return Places(1, [line or 1], first={"why": why, "do": remedy})


other_form = Case("error", "the format is {view.file.format}; {why}", other_format, remedy="{do}")


def header_line(table: TableView, *, arranged: bool) -> Places:
    """Return the line that names the columns, of a file in another form or in TREC form."""
    if table.file.header is None or (table.origin is not None) != arranged:
        return Places()
    line, text = table.file.header
    return Places(1, [line], first={"text": " ".join(text.split())})


def header_may_be_data(table: TableView) -> bool:
    """Return whether a query has the id in the first column of the header."""
    query_id = fields_of(table.file.header[1])[0] if table.file.header else ""
    return query_id in (*table.other_query_ids, *table.query_ids)


header = partial(
    Case, "error", where=partial(header_line, arranged=False), blocks=header_may_be_data
)
"""The case of a line that names the columns, of a file in TREC form."""

header_of_table = in_other_form(
    "{view.file.format} with the header {text!q}, not in TREC form{view.form_notes}",
    partial(header_line, arranged=True),
)
"""The case of a file in another form that has a header."""

header_with_repeats = partial(
    in_other_form,
    "the header {text!q} has several columns {view.origin.repeated!q}",
    partial(header_line, arranged=True),
    given=lambda table, _: table.origin.repeated,
    blocks=None,
)
"""The case of a header in which it is not clear which column has a field."""


def row_behind_hash(code: str, row: str) -> Rule:
    """Return the rule on comment lines that look like rows."""
    case = partial(Case, where=lambda table: table.commented_out_rows)
    return rule(
        code,
        "row-behind-hash",
        "warning",
        "comment line that looks like a row; error if all rows do",
        "A line that begins with '#' is a comment to trec_eval 10 and to this package, "
        f"but {row} to every other reader.",
        f"file.txt:1: error {code}: all rows start with '#'. Rename the id if it starts with '#'.",
        "Rename the id if it starts with '#'",
        case(
            "error",
            "all rows start with '#'",
            given=lambda table, _: not table.n_rows and table.file.first_line is None,
        ),
        case("warning", "{text!q} is skipped as a comment[ (and {more} more)]"),
        blocks_fixing=True,
        chunked=False,
    )


def returning_queries(table: TableView) -> Pairs:
    """Return the rows at which a query continues after another."""
    if not table.blocks.interleaved:
        return NO_PAIRS
    rows = np.setdiff1d(table.blocks.starts, table.blocks.first_rows, assume_unique=True)
    return Pairs(rows, rows - 1)


def in_order(rows: Texts, order: Rows) -> Texts:
    """Return rows in an order of all rows of the view."""
    return rows[np.argsort(np.argsort(order)[rows["row"]])]


def group_by_query(table: TableView, rows: Texts) -> Texts:
    """Return the rows by query, in the order of the first row of each."""
    return in_order(rows, np.argsort(table.blocks.query, kind="stable"))


CONTINUES = "query {query_id!v} continues after query {other_query_id!v}[ ({count} places in all)]"
"""The message on :func:`returning_queries`."""

INVISIBLE = re.compile(
    # Starts with the first bytes, which are found fast.
    rb"[\x01-\x08\x0e-\x1f\x7f\xc2\xe1-\xe3](?:(?<=[\x01-\x7f])|(?<=\xc2)[\x80-\xa0]"
    rb"|(?<=\xe1)\x9a\x80|(?<=\xe2)(?:\x80[\x80-\x8a\xa8\xa9\xaf]|\x81\x9f)|(?<=\xe3)\x80\x80)"
)
"""Control characters, and characters at which some tools split a row and others do not, in UTF-8:
U+0080 to U+00A0, U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F and U+3000."""


INVISIBLE_IN_IDS = re.compile(
    rb"\xc2\xad|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xa4\xa6-\xa9]|\xef\xbb\xbf"
)
"""Characters without width, some of which change the writing direction, in UTF-8: U+00AD, U+200B to
U+200F, U+202A to U+202E, U+2060 to U+2064, U+2066 to U+2069 and U+FEFF.

Because of them, different ids look the same.
"""


def lines_with(table: TableView, pattern: re.Pattern[bytes]) -> Places:
    """Return the lines with a match in a field, and the first character that matches."""
    columns = table.columns
    if columns is None or not table.file.has_rows:
        return Places()
    has_controls = table.file.has_controls or b"\x7f" in columns.source.data
    if table.file.is_ascii and not has_controls:
        return Places()
    characters: dict[int, bytes] = {}
    for line, _, text in columns.misshapen.rows():
        if match := pattern.search(text.encode()):
            characters[line] = match[0]
    body, row, counted = bytes(columns.body), 0, 0
    for match in pattern.finditer(body):
        row += body.count(b"\n", counted, match.start())
        counted = match.start()
        characters.setdefault(int(columns.lines[row]), match[0])
    if not characters:
        return Places()
    first = min(characters)
    character = characters[first].decode()
    column = None if columns.origin else columns.line_text(first).find(character) + 1
    return Places(
        len(characters),
        sorted(characters),
        column,
        first={"name": f"character U+{ord(character):04X}"},
    )


def invisible_character(code: str) -> Rule:
    """Return the rule on invisible characters in rows."""
    return rule(
        code,
        "invisible-character",
        "error",
        "NBSP, U+3000, control bytes, U+2028 in a row; U+200B, U+FEFF, U+00AD inside a word are a "
        "warning",
        "Python's split() splits a row at a no-break space, C does not, so two tools see "
        "different columns. An id with a zero-width character looks like the correct id but never "
        "matches it.",
        f"file.txt:2: error {code}: character U+00A0; tools split rows differently here. "
        "Replace it with a plain blank, or remove it from the id.",
        "Replace it with a plain blank, or remove it from the id",
        Case(
            "error",
            "{name}[ (on {count} lines)]; tools split rows differently here",
            partial(lines_with, pattern=INVISIBLE),
        ),
        Case(
            "warning",
            "{name} inside a word[ (on {count} lines)]; two ids can look the same",
            partial(lines_with, pattern=INVISIBLE_IN_IDS),
        ),
        drop_in="scores",
        chunked=True,
    )


RULES = (
    rule(
        "F112",
        "gzip-name",
        "warning",
        "gzip data (1F 8B) without a .gz name, or a .gz name without gzip data; the same for "
        "other compressions",
        "This package recognises compression by the bytes. ir_measures, ranx and others use the "
        "name, and then read compressed bytes as text, or stop.",
        "run.txt: warning F112: the compression of the content (gzip) is not that of the name. "
        "Rename the file.",
        "Rename the file",
        "the compression of the content ({compression}) is not that of the name",
        misnamed,
    ),
    rule(
        "F111",
        "truncated-gzip",
        "error",
        "gzip stream ends early or CRC differs",
        "The readable part of a truncated file looks like a complete file with fewer queries.",
        "run.txt.gz: error F111: gzip stream ends early, after 4,412 whole lines. Copy or create "
        "the file again.",
        "Copy or create the file again",
    ),  # the engine reports it, because a damaged stream has no view
    rule(
        "F102",
        "byte-order-mark",
        "warning",
        "file starts with EF BB BF",
        "Other readers make the mark part of the first query id, so the first row belongs to a "
        "query that is not in the qrels.",
        "run.txt:1: warning F102: byte order mark; other readers make it part of the first id and "
        "lose the row. Save as UTF-8 without BOM.",
        "Save as UTF-8 without BOM",
        "byte order mark; other readers make it part of the first id and lose the row",
        lambda table: Places(int(table.file.source.data.startswith(BOM)), [1]),
        note="the mark is ignored",
        fix_bytes=lambda data: re.sub(b"^(%b)+" % BOM, b"", data),
        fixed="took off the byte order mark",
    ),
    rule(
        "F103",
        "not-utf8",
        "error",
        "bytes that are not UTF-8; UTF-16 and UTF-32 are recognised by their byte order mark or "
        "NUL bytes",
        "Tools decode such bytes differently or stop, so one document gets several ids.",
        "run.txt:4: error F103: byte 0xE9 is not UTF-8 (it may be Latin-1). Convert: iconv -f "
        "latin1 -t utf-8.",
        "Convert: iconv -f latin1 -t utf-8",
        Case(
            "error",
            "the text is {view.file.encoding_guess}, not UTF-8",
            lambda table: Places(int(has_wide_encoding(table.file)), [1]),
            remedy="Convert: iconv -f {view.file.encoding_guess} -t utf-8",
            drop_in="refuses",
        ),
        Case("error", "byte {byte} is not UTF-8 (it may be Latin-1)", bad_byte),
        drop_in="scores",
        blocks_fixing=True,
    ),
    rule(
        "F105",
        "bare-cr",
        "error",
        "CR not followed by LF",
        "CR alone is the line end of old Macintosh systems. trec_eval reads the whole file as one "
        "row. A CR inside a row is part of an id for some tools and a line end for others, so "
        "only a file whose line ends are all CR can be fixed.",
        "run.txt:1: error F105: line ends are bare CR; other readers read the whole file as one "
        "row. Convert to LF: tr '\\r' '\\n'.",
        "Convert to LF: tr '\\r' '\\n'",
        Case(
            "error",
            "line ends are bare CR; other readers read the whole file as one row",
            lambda table: Places(len(table.file.bare_cr), [1]),
            given=lambda table, _: has_only_bare_cr(table.file),
        ),
        Case(
            "error",
            "CR inside a line[ ({count} in all)]; some readers end the line here",
            partial(marks, character="\r"),
            remedy="Remove it",
            fixable=False,
        ),
        fix_bytes=lambda data: data.replace(b"\r", b"\n"),
        fixed="wrote LF for bare CR",
        blocks_fixing=True,
        chunked=True,
    ),
    rule(
        "F106",
        "nul-byte",
        "error",
        "byte 0x00 anywhere",
        "A NUL byte ends a string in C: trec_eval aborts or stops reading there and scores only "
        "the rows before it. Damaged disks and interrupted copies cause NUL bytes.",
        "run.txt:2: error F106: NUL byte at column 7; trec_eval aborts or stops reading here. "
        "Remove it and check how the file was copied.",
        "Remove it and check how the file was copied",
        "NUL byte at column {at}[ ({count} in all)]; trec_eval aborts or stops reading here",
        partial(marks, character="\0"),
        blocks_fixing=True,
        chunked=True,
    ),
    rule(
        "F101",
        "empty-file",
        "error",
        "no data row after comments and blank lines",
        "A job that stops before it writes leaves an empty run. Evaluators then print zeros, or "
        "nothing, without a warning.",
        "run.txt: error F101: no data rows. Check whether the job stopped before writing.",
        "Check whether the job stopped before writing",
        "no data rows",
        no_data,
        tables=True,
        blocks_fixing=True,
    ),
    rule(
        "F104",
        "crlf",
        "info",
        "CR LF line ends; warning when mixed with LF",
        "Readers that expect LF keep the CR as part of the last column. Mixed line ends mean that "
        "parts of the file come from different systems.",
        "run.txt: info F104: CRLF line ends, read as LF. Save with LF line ends.",
        "Save with LF line ends",
        Case(
            "warning",
            "{count:line} in CRLF, {view.file.n_lf} in LF; two files may have been joined",
            lambda table: table.file.n_crlf if table.file.n_lf else 0,
        ),
        Case("info", "CRLF line ends, read as LF", lambda table: table.file.n_crlf),
        fixed="wrote LF for CRLF",
    ),
    rule(
        "F107",
        "comment-line",
        "warning",
        "line that starts with '#'; an indented '#' is data and fails R101 or R102",
        "trec_eval 10 skips comments; all other readers stop or read them as data.",
        "run.txt:5: warning F107: 1 comment line; only trec_eval 10 skips comments. Remove it.",
        "Remove it",
        "{count:comment line}; only trec_eval 10 skips comments",
        comment_lines,
        fixed="left out comment lines",
    ),
    rule(
        "F108",
        "blank-line",
        "warning",
        "empty or whitespace-only line",
        "trec_eval skips blank lines in runs and rejects them in qrels; pytrec_eval and ranx "
        "reject them everywhere.",
        "qrels.txt:5: warning F108: 1 blank line; many readers stop there. Remove it.",
        "Remove it",
        "{count:blank line}; many readers stop there",
        lambda table: Places(len(table.file.blank_lines), table.file.blank_lines),
        given=lambda table, _: table.is_line_based and table.file.first_line,
        fixed="left out blank lines",
    ),
    rule(
        "F109",
        "no-final-newline",
        "info",
        "last byte is not LF",
        "A truncated file has no final newline either, and a truncated score is still a number.",
        "run.txt: info F109: no newline at end of file. Check that the last row is complete.",
        "Check that the last row is complete",
        "no newline at end of file",
        lambda table: not table.file.final_newline and table.is_line_based,
        given=lambda table, _: table.file.verdict != "not-text" and table.file.stopped_at is None,
        fixed="ended the last line",
    ),
    rule(
        "F110",
        "long-line",
        "warning",
        "line over 64 KiB; error over 16 MiB, where reading stops",
        "No valid row is this long: line ends were lost, or the file has another format. Tools "
        "with a fixed buffer split such a line into several rows.",
        "run.txt:4: warning F110: line of 1,000,014 bytes. Check that line ends were not lost.",
        "Check that line ends were not lost",
        Case(
            "error",
            f"line of over {MAX_LINE_BYTES:,} bytes; the rest of the file is not read",
            lambda table: Places(
                int(table.file.stopped_at is not None), [table.file.stopped_at or 1]
            ),
            given=lambda table, _: table.file.stopped_at == table.file.longest_line_at,
        ),
        Case(
            "warning",
            f"line of {{view.file.longest_line}} bytes[ ({{count}} lines over "
            f"{LONG_LINE_BYTES >> 10} KiB)]",
            long_lines,
        ),
    ),
)
