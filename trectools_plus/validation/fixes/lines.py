"""Fixes of lines: comments, blank lines, headers, spacing, and rows of the wrong width."""

from __future__ import annotations

import numpy as np
import polars as pl

from trectools_plus.formats.numerals import DECIMAL, INTEGER
from trectools_plus.validation.fixes.draft import Draft
from trectools_plus.validation.fixes.job import Job
from trectools_plus.validation.fixes.tags import tag_for
from trectools_plus.validation.rules.hashed import rows_behind_hash
from trectools_plus.validation.shape import field_of

_BLANK_CHARACTERS = " \t\x0b\x0c"
_BLANKS = r"[ \t\x0b\x0c]"
_FIELD = r"[^ \t\x0b\x0c]+"
_HEADER_CODES = {"run": "R105", "qrels": "Q103"}
_GRADE = r"^[+-]?[0-9]{1,3}$"

# Five columns as they should be; all behind them is the tag.
_TAG_OF_WORDS = (
    rf"^(?P<front>(?:{_FIELD}{_BLANKS}+){{3}}{INTEGER[1:-1]}{_BLANKS}+{DECIMAL[1:-1]}{_BLANKS}+)"
    r"(?P<tag>.+)$"
)


def tidy(draft: Draft, job: Job) -> Draft:
    """Write the lines anew if they are not tidy (F104, F107–F109, R105, R106, Q103, Q106)."""
    columns, shape = draft.view.columns, draft.view.shape
    assert columns is not None
    header_code, facts, n_applied = _HEADER_CODES[draft.kind], columns.facts, len(job.applied)
    n_comments = columns.comments.height - rows_behind_hash(draft.view).height
    if shape.verdict == "rows" and shape.header is not None and not draft.drops_header:
        job.skip(header_code, "the line below it is no row either")
    for code, count in (
        ("F104", facts.n_crlf),
        ("F107", n_comments),
        ("F108", facts.blank_lines.count),
        ("F109", int(not facts.final_newline and not draft.ends_in_stray)),
        (header_code, int(draft.drops_header)),
        ("R106", _n_oddly_spaced(draft) if draft.kind == "run" else 0),
        ("Q106", _n_form_feeds(draft) if draft.kind == "qrels" else 0),
    ):
        if count:
            job.done(code, count)
    if len(job.applied) == n_applied:
        return draft
    return draft.rewritten(draft.fields)


def _n_oddly_spaced(draft: Draft) -> int:
    """Number of rows with other blanks between columns than one space, or one tab."""
    assert draft.view.columns is not None
    facts = draft.view.columns.facts
    mixed = min(facts.spaced_rows, facts.tabbed_rows)
    return max(len(facts.loose_rows.lines), mixed, _n_form_feeds(draft))


def _n_form_feeds(draft: Draft) -> int:
    """Number of rows with a form feed or vertical tab between columns."""
    columns, line_numbers = draft.view.columns, draft.view.line_numbers
    assert columns is not None
    assert line_numbers is not None
    # Rows of the wrong width have them too, and stay as they are.
    return int(np.isin(columns.facts.form_feed_lines.lines, line_numbers).sum())


def mend_narrow_run(draft: Draft, job: Job) -> Draft:
    """Add the tag, Q0, or Q0, rank and tag where every row lacks just that (R101)."""
    if "R101" not in job.asked or not _are_strays(draft, job, "R101"):
        return draft
    texts = draft.strays["text"]
    tag = tag_for(job.options.tag, draft.path, job.options.max_tag_length)
    forms = (
        (("{1} {2} {3} {4} {5} " + tag), {4: INTEGER, 5: DECIMAL}, 5, f"added the tag {tag}"),
        ("{1} Q0 {2} {3} {4} {5}", {3: INTEGER, 4: DECIMAL}, 5, "added Q0"),
        ("{1} Q0 {2} 0 {3} " + tag, {3: DECIMAL}, 3, f"added Q0, ranks and the tag {tag}"),
    )
    for form, patterns, width, what in forms:
        fields = [field_of(texts, number) for number in range(1, width + 2)]
        if fields[-1].is_null().all() and all(
            fields[number - 1].str.contains(pattern).fill_null(False).all()
            for number, pattern in patterns.items()
        ):
            return _mend_all(draft, job, "R101", form, fields[:-1], what)
    job.skip("R101", "the rows do not all lack the same column")
    return draft


def mend_narrow_qrels(draft: Draft, job: Job) -> Draft:
    """Insert the iteration where every row is query, document, grade (Q101, and Q103 for BEIR)."""
    code = "Q103" if draft.view.shape.verdict == "beir" else "Q101"
    if code not in job.asked or not _are_strays(draft, job, code):
        return draft
    header = draft.view.shape.header
    lines = draft.strays
    if code == "Q103" and header is not None:
        lines = lines.filter(pl.col("line") != header[0])
    fields = [field_of(lines["text"], number) for number in range(1, 5)]
    grades = fields[2].str.contains(_GRADE).fill_null(False)
    if fields[3].is_null().all() and grades.all() and lines.height:
        what = "wrote BEIR's three columns as four" if code == "Q103" else None
        return _mend_all(draft, job, code, "{1} 0 {2} {3}", fields[:-1], what, lines)
    job.skip(code, "the rows are not all query, document and grade")
    return draft


def _are_strays(draft: Draft, job: Job, code: str) -> bool:
    """Whether the file has only rows of the wrong width, and no commented-out ones."""
    hashed = rows_behind_hash(draft.view)
    if draft.strays.height > hashed.height and (draft.view.n_rows or hashed.height):
        job.skip(code, "only some rows lack a column")
        return False
    return draft.strays.height > hashed.height


def _mend_all(
    draft: Draft,
    job: Job,
    code: str,
    form: str,
    fields: list[pl.Series],
    what: str | None,
    lines: pl.DataFrame | None = None,
) -> Draft:
    lines = draft.strays if lines is None else lines
    table = pl.DataFrame({f"c{number}": field for number, field in enumerate(fields, 1)})
    names = {f"{{{number}}}": f"c{number}" for number in range(1, len(fields) + 1)}
    parts = [pl.col(names[p]) if p in names else pl.lit(p) for p in form.split(" ")]
    texts = table.select(text=pl.concat_str(parts, separator=" "))["text"]
    job.done(code, texts.len(), what)
    return draft.replaced(("\n".join(texts) + "\n").encode(), lines["line"].to_numpy())


def join_tags(draft: Draft, job: Job) -> Draft:
    """Join the words of a tag where a row is too wide for that reason alone (R102)."""
    if "R102" not in job.asked:
        return draft
    wide = draft.strays.filter(field_of(draft.strays["text"], 7).is_not_null())
    wide = wide.filter(~pl.col("text").str.starts_with("#"))
    if wide.is_empty():
        return draft
    sep = draft.separator
    groups = pl.col("text").str.strip_chars(_BLANK_CHARACTERS).str.extract_groups(_TAG_OF_WORDS)
    front = groups.struct.field("front").str.replace_all(f"{_BLANKS}+", sep)
    tag = groups.struct.field("tag").str.replace_all(f"{_BLANKS}+", "_")
    # A number there is the score, and a word too many stands before it.
    is_name = ~groups.struct.field("tag").str.extract(rf"^({_FIELD})").str.contains(DECIMAL)
    mended = wide.filter(is_name).select("line", text=front + tag).drop_nulls()
    if mended.height < wide.height:
        job.skip("R102", "a blank is not in the tag; take it out of the id")
    if mended.is_empty():
        return draft
    job.done("R102", mended.height)
    return draft.rewritten(draft.fields, mended=mended)
