"""Rules on the lines of any file: empty files, line ends, comments, blank and long lines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trectools_plus.formats.columns.facts import LONG_LINE_BYTES
from trectools_plus.formats.files.limits import MAX_LINE_BYTES
from trectools_plus.text import plural
from trectools_plus.validation.fixes.session import (
    FileDraft,
    FixSession,
    TopicsDraft,
    is_blank,
)
from trectools_plus.validation.registry import Hit, RuleFix, fix_step, rule
from trectools_plus.validation.views.tables import TableView

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
    rationale="A job that stops before it writes leaves an empty run. Evaluators then print "
    "zeros, or nothing, without a warning.",
    example="run.txt: error F101: no data rows (2 comment lines). Check whether the job stopped "
    "before writing.",
    remedy="Check whether the job stopped before writing",
    blocks_fixing=True,
)
def empty_file(table: TableView) -> Hit | None:
    """The file has no data."""
    if table.n_rows or table.shape.first_line is not None:
        return None
    if table.columns is not None and table.columns.facts.stopped_at is not None:
        return None  # F110 reports it
    nothing = _NOTHING.get(table.kind, "no data rows")
    if table.columns is None:
        return Hit(nothing)
    n_comments, n_blank = len(table.columns.comments), table.columns.facts.blank_lines.count
    if n_comments and len(table.commented_out_rows) == n_comments:
        return None  # R112 and Q112 report it
    seen = [plural(n_comments, "comment line")] if n_comments else []
    seen += [plural(n_blank, "blank line")] if n_blank else []
    if not table.columns.facts.n_lines:
        seen = ["the file is empty"]
    return Hit(f"{nothing} ({' and '.join(seen)})" if seen else nothing)


@rule(
    "F104",
    "crlf",
    on="file",
    scope="file",
    severity="info",
    fix=RuleFix("safe", "wrote LF for CRLF"),
    checks="CR LF line ends; warning when mixed with LF",
    rationale="Readers that expect LF keep the CR as part of the last column. Mixed line ends "
    "mean that parts of the file come from different systems.",
    example="run.txt: info F104: CRLF line ends, read as LF. Save with LF line ends.",
    remedy="Save with LF line ends",
)
def crlf(table: TableView) -> Hit | None:
    """Lines end in CR LF."""
    if table.columns is None or not table.columns.facts.n_crlf:
        return None
    n_crlf, n_lf = table.columns.facts.n_crlf, table.columns.facts.n_lf
    if n_lf:
        message = f"{n_crlf:,} lines end in CRLF and {n_lf:,} in LF; two files may have been joined"
        return Hit(message, count=n_crlf, severity="warning")
    return Hit("CRLF line ends, read as LF", count=n_crlf)


@rule(
    "F107",
    "comment-line",
    on="file",
    scope="row",
    severity="warning",
    fix=RuleFix("safe", "left out comment lines"),
    checks="line that starts with '#'; an indented '#' is data and fails R101 or R102",
    rationale="trec_eval 10 skips comments; all other readers stop or read them as data.",
    example="run.txt:5: warning F107: comment line; only trec_eval 10 accepts it. Remove it.",
    remedy="Remove it",
)
def comment_line(table: TableView) -> Hit | None:
    """A line is a comment, and not a row that is commented out."""
    if table.columns is None or table.shape.verdict == "not-text" or not table.has_comments:
        return None
    rows = set(table.commented_out_rows.line.tolist())
    lines = [line for line in table.columns.comments.line.tolist() if line not in rows]
    if not lines:
        return None
    several = len(lines) > 1
    many = f"{len(lines):,} comment lines" if several else "comment line"
    accepts = f"only trec_eval 10 accepts {'them' if several else 'it'}"
    if table.kind == "topics":
        accepts = f"other readers read {'them as topics' if several else 'it as a topic'}"
    remedy = "Remove them" if several else None
    return Hit(f"{many}; {accepts}", lines[:10], len(lines), remedy=remedy)


@rule(
    "F108",
    "blank-line",
    on="file",
    scope="row",
    severity="warning",
    fix=RuleFix("safe", "left out blank lines"),
    checks="empty or whitespace-only line",
    rationale="trec_eval skips blank lines in runs and rejects them in qrels; pytrec_eval and "
    "ranx reject them everywhere.",
    example="qrels.txt:5: warning F108: blank line; trec_eval rejects blank lines in qrels, "
    "pytrec_eval and ranx in runs too. Remove it.",
    remedy="Remove it",
)
def blank_line(table: TableView) -> Hit | None:
    """A line is empty."""
    if table.columns is None or not table.columns.facts.blank_lines or not table.is_line_based:
        return None
    if table.shape.first_line is None:
        return None  # F101 reports them
    blank = table.columns.facts.blank_lines
    many = f"{blank.count:,} blank lines" if blank.count > 1 else "blank line"
    rejected = "trec_eval rejects blank lines in qrels, pytrec_eval and ranx in runs too"
    if table.kind == "topics":
        rejected = "other readers stop there or read an empty topic"
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
    fix=RuleFix("safe", "ended the last line", cannot_apply=TableView.ends_in_unparsed_line),
    checks="last byte is not LF",
    rationale="A truncated file has no final newline either, and a truncated score is still a "
    "number.",
    example="run.txt: info F109: no newline at end of file. Check that the last row is complete.",
    remedy="Check that the last row is complete",
)
def no_final_newline(table: TableView) -> Hit | None:
    """The last line has no line end."""
    columns = table.columns
    if columns is None or columns.facts.final_newline or table.shape.verdict == "not-text":
        return None
    if not table.is_line_based or columns.facts.stopped_at is not None:
        return None
    return Hit("no newline at end of file")


@rule(
    "F110",
    "long-line",
    on="file",
    scope="row",
    severity="warning",
    fix="no",
    checks="line over 64 KiB; error over 16 MiB, where reading stops",
    rationale="No valid row is this long: line ends were lost, or the file has another format. "
    "Tools with a fixed buffer split such a line into several rows.",
    example="run.txt:4: warning F110: line of 1,000,014 bytes. Check that line ends were not lost.",
    remedy="Check that line ends were not lost",
    may_be_error=True,
)
def long_line(table: TableView) -> Hit | None:
    """A line is too long."""
    if table.columns is None or not table.columns.facts.long_lines:
        return None
    facts = table.columns.facts
    long = facts.long_lines
    if facts.stopped_at is not None and facts.stopped_at == facts.longest_line_at:
        return Hit(
            f"line of over {MAX_LINE_BYTES:,} bytes; the rest of the file is not read",
            [facts.stopped_at],
            severity="error",
        )
    if not table.is_line_based:
        return None  # line ends have no meaning in JSON and markup
    first = [facts.longest_line_at] if facts.longest_line_at is not None else []
    others = [line for line in long.lines.tolist() if line not in first]
    more = f" ({long.count:,} lines over {LONG_LINE_BYTES >> 10} KiB)" if long.count > 1 else ""
    return Hit(f"line of {facts.longest_line:,} bytes{more}", first + others, long.count)


def odd_blanks(table: TableView) -> Hit | None:
    """Return the hit for columns that are separated by a form feed or vertical tab."""
    if table.columns is None or not table.shape.has_rows:
        return None
    lines = table.columns.facts.form_feed_lines.lines.tolist()
    message = "form feed or vertical tab between columns; not every reader splits there"
    return Hit(message, lines, len(lines), severity="warning") if lines else None


_HEADER_CODES = {"run": "R105", "qrels": "Q103"}


@fix_step("F104", "F107", "F108", "F109", "R105", "R106", "Q103", "Q106", order=10)
def normalise_lines(draft: FileDraft, session: FixSession) -> FileDraft:
    """Remove headers, comments and blank lines, and normalise line ends and separators."""
    columns, shape = draft.view.columns, draft.view.shape
    assert columns is not None
    header_code, facts, n_applied = _HEADER_CODES[draft.kind], columns.facts, len(session.applied)
    n_comments = len(columns.comments) - len(draft.view.commented_out_rows)
    if shape.verdict == "rows" and shape.header is not None and not draft.view.drops_header():
        session.skip(header_code, "the line after it is not a row")
    for code, count in (
        ("F104", facts.n_crlf),
        ("F107", n_comments),
        ("F108", facts.blank_lines.count),
        ("F109", int(not facts.final_newline and not draft.view.ends_in_unparsed_line())),
        (header_code, int(draft.view.drops_header())),
        ("R106" if draft.kind == "run" else "Q106", _count_oddly_spaced_rows(draft)),
    ):
        if count:
            session.done(code, count)
    if len(session.applied) == n_applied:
        return draft
    return draft.rewritten(draft.fields)


def _count_oddly_spaced_rows(draft: FileDraft) -> int:
    """Count the rows with a form feed or vertical tab; of a run, also those with other blanks."""
    columns, line_numbers = draft.view.columns, draft.view.line_numbers
    assert columns is not None
    assert line_numbers is not None
    facts = columns.facts
    # Rows with a wrong number of columns are copied unchanged, so they are not counted.
    n_form_feed = int(np.isin(facts.form_feed_lines.lines, line_numbers).sum())
    if draft.kind == "qrels":
        return n_form_feed
    mixed = min(facts.spaced_rows, facts.tabbed_rows)
    return max(len(facts.loose_rows.lines), mixed, n_form_feed)


@fix_step("F104", order=10, phase="topics")
def write_lf(draft: TopicsDraft, session: FixSession) -> TopicsDraft:
    """Write LF for CRLF; only in TSV, a CR at the end of the file is a line end too."""
    lines = [line.removesuffix("\r") for line in draft.lines]
    if not draft.final_newline and draft.form != "tsv":
        lines[-1] = draft.lines[-1]
    return draft.write(session, "F104", lines)


@fix_step("F107", order=10, phase="tsv")
def remove_comments(draft: TopicsDraft, session: FixSession) -> TopicsDraft:
    """Remove comment lines."""
    comments = {at for at, line in enumerate(draft.lines) if line.startswith("#")}
    return draft.drop(session, "F107", comments)


@fix_step("F108", "F109", order=30, phase="topics")
def remove_blank_lines(draft: TopicsDraft, session: FixSession) -> TopicsDraft:
    """End the last line and remove blank lines, if each line is a topic."""
    if not draft.is_line_based:
        return draft
    if not draft.final_newline:
        session.done("F109", 1)
    blank = {at for at, line in enumerate(draft.lines) if is_blank(line)}
    return replace(draft.drop(session, "F108", blank), final_newline=True)
