"""Rules on the lines of any file: empty files, line ends, comments, blank and long lines."""

from __future__ import annotations

import numpy as np

from trectools_plus.formats.columns.facts import LONG_LINE_BYTES, OddLines
from trectools_plus.formats.files.limits import MAX_LINE_BYTES
from trectools_plus.validation.registry import Case, Rule
from trectools_plus.validation.views.places import Places
from trectools_plus.validation.views.tables import TableView


def no_data(table: TableView) -> int:
    """Return 1 if the file has no data, unless F110, R112 or Q112 report the reason."""
    if table.n_rows or table.shape.first_line is not None:
        return 0
    if table.columns is None:
        return 1
    n_comments = len(table.columns.comments)
    is_explained = n_comments and len(table.commented_out_rows) == n_comments
    return int(table.columns.facts.stopped_at is None and not is_explained)


F101 = Rule(
    "F101",
    "empty-file",
    "file",
    "error",
    tables=True,
    checks="no data row after comments and blank lines",
    rationale="A job that stops before it writes leaves an empty run. Evaluators then print "
    "zeros, or nothing, without a warning.",
    example="run.txt: error F101: no data rows. Check whether the job stopped before writing.",
    remedy="Check whether the job stopped before writing",
    blocks_fixing=True,
    cases=(Case("error", "no data rows", no_data),),
)


F104 = Rule(
    "F104",
    "crlf",
    "file",
    "info",
    fix="safe",
    fixed="wrote LF for CRLF",
    checks="CR LF line ends; warning when mixed with LF",
    rationale="Readers that expect LF keep the CR as part of the last column. Mixed line ends "
    "mean that parts of the file come from different systems.",
    example="run.txt: info F104: CRLF line ends, read as LF. Save with LF line ends.",
    remedy="Save with LF line ends",
    cases=(
        Case(
            "warning",
            "{count:line} in CRLF, {n_lf} in LF; two files may have been joined",
            lambda table: table.file.facts.n_crlf,
            given=lambda table, _: table.file.facts.n_lf,
            shows=lambda table, _: {"n_lf": table.file.facts.n_lf},
        ),
        Case("info", "CRLF line ends, read as LF", lambda table: table.file.facts.n_crlf),
    ),
)


def comment_lines(table: TableView) -> OddLines:
    """Return comments that are not rows that are commented out."""
    if table.shape.verdict == "not-text" or not table.has_comments:
        return OddLines.of()
    comments = table.file.comments
    return comments.filter(~np.isin(comments.line, table.commented_out_rows.line))


F107 = Rule(
    "F107",
    "comment-line",
    "file",
    "warning",
    fix="safe",
    fixed="left out comment lines",
    checks="line that starts with '#'; an indented '#' is data and fails R101 or R102",
    rationale="trec_eval 10 skips comments; all other readers stop or read them as data.",
    example="run.txt:5: warning F107: 1 comment line; only trec_eval 10 accepts it. Remove it.",
    remedy="Remove it",
    cases=(
        Case("warning", "{count:comment line}; only trec_eval 10 skips comments", comment_lines),
    ),
)


F108 = Rule(
    "F108",
    "blank-line",
    "file",
    "warning",
    fix="safe",
    fixed="left out blank lines",
    checks="empty or whitespace-only line",
    rationale="trec_eval skips blank lines in runs and rejects them in qrels; pytrec_eval and "
    "ranx reject them everywhere.",
    example="qrels.txt:5: warning F108: 1 blank line; many readers stop there. Remove it.",
    remedy="Remove it",
    cases=(
        Case(
            "warning",
            "{count:blank line}; many readers stop there",
            lambda table: table.file.facts.blank_lines,
            given=lambda table, _: table.is_line_based and table.shape.first_line,
        ),
    ),
)


F109 = Rule(
    "F109",
    "no-final-newline",
    "file",
    "info",
    fix="safe",
    fixed="ended the last line",
    checks="last byte is not LF",
    rationale="A truncated file has no final newline either, and a truncated score is still a "
    "number.",
    example="run.txt: info F109: no newline at end of file. Check that the last row is complete.",
    remedy="Check that the last row is complete",
    cases=(
        Case(
            "info",
            "no newline at end of file",
            lambda table: int(not table.file.facts.final_newline and table.is_line_based),
            given=lambda table, _: (
                table.shape.verdict != "not-text" and table.file.facts.stopped_at is None
            ),
        ),
    ),
)


def endless_line(table: TableView) -> Places:
    """Return the line at which reading stopped because of its length."""
    facts = table.file.facts
    is_so = facts.stopped_at is not None and facts.stopped_at == facts.longest_line_at
    return Places(int(is_so), [facts.stopped_at or 1])


def long_lines(table: TableView) -> Places:
    """Return long lines, the longest first, unless line ends have no meaning."""
    facts = table.file.facts
    longest = [] if facts.longest_line_at is None else [facts.longest_line_at]
    others = [line for line in facts.long_lines.lines.tolist() if line not in longest]
    count = facts.long_lines.count if table.is_line_based else 0
    return Places(count, [*longest, *others], first={"longest": facts.longest_line})


F110 = Rule(
    "F110",
    "long-line",
    "file",
    "warning",
    checks="line over 64 KiB; error over 16 MiB, where reading stops",
    rationale="No valid row is this long: line ends were lost, or the file has another format. "
    "Tools with a fixed buffer split such a line into several rows.",
    example="run.txt:4: warning F110: line of 1,000,014 bytes. Check that line ends were not lost.",
    remedy="Check that line ends were not lost",
    cases=(
        Case(
            "error",
            f"line of over {MAX_LINE_BYTES:,} bytes; the rest of the file is not read",
            endless_line,
        ),
        Case(
            "warning",
            f"line of {{longest}} bytes[ ({{count}} lines over {LONG_LINE_BYTES >> 10} KiB)]",
            long_lines,
        ),
    ),
)
spacing_cases = (
    Case(
        "warning",
        "form feed or vertical tab between columns; not every reader splits there",
        lambda table: Places(
            len(table.file.facts.form_feed_lines.lines), table.file.facts.form_feed_lines.lines
        ),
        given=lambda table, _: table.shape.has_rows,
    ),
)
"""The case of a form feed or vertical tab between columns."""
