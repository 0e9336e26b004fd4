"""Rules on columns 2, 3 and 6 of a run: Q0, swapped documents, tags."""

from __future__ import annotations

import re
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.errors import UsageError
from trectools_plus.formats.clean.words import Rows
from trectools_plus.formats.writing import tag_of_path, valid_tag
from trectools_plus.text import on, quoted
from trectools_plus.validation.registry import Hit, RuleFix, fix_step, rule
from trectools_plus.validation.views.runs import RunView

if TYPE_CHECKING:
    from trectools_plus.formats.interchange.systems import Systems
    from trectools_plus.validation.draft import Draft, Job


def may_hold_documents(run: RunView) -> bool:
    """Return whether column 2 may contain the document ids, because column 3 is constant.

    This finds more files than rule R108, because writing Q0 deletes the content of column 2.
    """
    if run.documents_in_column_2:
        return True
    if run.n_rows < 2 or run.doc_ids.changes().any():
        return False
    second = run.rows.second
    return not {"Q0", "q0", "0"}.issuperset(second.texts(second.numbered()[1]))


@rule(
    "R107",
    "second-column",
    on="run",
    scope="row",
    severity="warning",
    fix=RuleFix("safe", "wrote Q0 in column 2", interprets_columns=True),
    checks="column 2 is not 'Q0' (once per file)",
    rationale="Evaluators ignore column 2, but submission checkers require 'Q0', and pyserini "
    "reads a run without it as MS MARCO's format.",
    example="run.txt:1: warning R107: column 2 is '0', not 'Q0'; TREC checkers reject it and "
    "pyserini reads such a run as MS MARCO. Write Q0 in column 2.",
    remedy="Write Q0 in column 2",
)
def second_column(run: RunView) -> Hit | None:
    """Column 2 is not Q0."""
    if run.columns is None or run.n_rows == 0 or run.documents_in_column_2:
        return None
    rows = run.rows.second.differ_from("Q0")
    if len(rows) == 0:
        return None
    found = quoted(run.rows.second.text(rows[0]))
    return Hit(
        f"column 2 is {found}, not 'Q0'{on(len(rows))}; TREC checkers reject it and "
        "pyserini reads such a run as MS MARCO",
        run.lines(rows),
        len(rows),
        run.column(rows[0], 2),
    )


@fix_step("R107", order=70)
def write_q0(draft: Draft, job: Job) -> Draft:
    """Write Q0 in column 2 (R107), unless it may contain the document ids."""
    run = draft.run
    count = len(run.rows.second.differ_from("Q0"))
    if not count:
        return draft
    if may_hold_documents(run):
        job.skip("R107", "column 2 may contain the document ids; --fix R108 swaps columns 2 and 3")
        return draft
    if np.isnan(run.score).all() and not run.swapped_columns:
        job.skip("R107", "no row has a number in column 5, so the columns may have another meaning")
        return draft
    import polars as pl

    job.done("R107", count)
    return draft.with_fields(c2=pl.repeat("Q0", run.n_rows, eager=True))


class _SwappedRows:
    """Reports swapped columns with the message of the first chunk."""

    def add(self, run: RunView) -> Hit | None:
        """Return the hit of a chunk."""
        return columns_swapped.check(run)

    def hit(self, first: str, count: int) -> Hit:  # noqa: ARG002
        """Return a hit with the message of the first chunk."""
        return Hit(first)


@rule(
    "R108",
    "columns-swapped",
    on="run",
    scope="file",
    severity="error",
    fix=RuleFix("ask", "swapped columns 2 and 3", interprets_columns=True),
    checks="column 3 is 'Q0', or constant, while column 2 varies",
    rationale="Every tool reads column 3 as the document id: each query then has a single "
    "document, named Q0, many times.",
    example="run.txt:1: error R108: columns 2 and 3 look swapped: 'd01' and 'Q0'. Write 'qid Q0 "
    "docid rank score tag'.",
    remedy="Write 'qid Q0 docid rank score tag'",
    drop_in="permissive",
    chunk_accumulator=_SwappedRows,
)
def columns_swapped(run: RunView) -> Hit | None:
    """The document ids are in column 2."""
    if not run.documents_in_column_2:
        return None
    second, third = run.rows.second.text(0), run.doc_id(0)
    return Hit(
        f"columns 2 and 3 look swapped: {quoted(second)} and {quoted(third)}",
        run.lines(range(run.n_rows)),
        run.n_rows,
        run.column(0, 2),
        run.query_id(0),
    )


@fix_step("R108", order=40)
def swap_q0(draft: Draft, job: Job) -> Draft:
    """Swap columns 2 and 3 (R108)."""
    if "R108" not in job.requested or not draft.run.documents_in_column_2:
        return draft
    job.done("R108", draft.run.n_rows)
    fields = draft.fields
    return draft.with_fields(c2=fields["c3"], c3=fields["c2"])


@rule(
    "R151",
    "several-tags",
    on="run",
    scope="file",
    severity="warning",
    fix=RuleFix("ask", "wrote one tag"),
    checks="more than one tag, or a column of a table that names several systems (info), or may do "
    "so",
    rationale="The last column names the run. Two names in one file mean that two runs were "
    "joined, or that a later step wrote only some rows. In a table, each value of a column can "
    "name a system, which is a run of its own.",
    example="run.txt:5: warning R151: tag 'other' after 'base'; two runs may have been joined. "
    "Keep one run per file, with one tag.",
    remedy="Keep one run per file, with one tag",
)
def several_tags(run: RunView) -> Hit | None:
    """The last column has more than one value."""
    if run.columns is None or run.n_rows == 0:
        return None
    if run.columns.origin is not None and run.columns.origin.systems is not None:
        return _several_systems(run, run.columns.origin.systems)
    tags = run.rows.tags
    rows = tags.differ_from(tags.text(0))
    if len(rows) == 0:
        return None
    n_tags = len(tags.numbered()[1])
    first, other = quoted(tags.text(0)), quoted(tags.text(rows[0]))
    several = f" ({n_tags:,} tags in all)" if n_tags > 2 else on(len(rows))
    message = f"tag {other} after {first}{several}; two runs may have been joined"
    return Hit(message, run.lines(rows), len(rows), run.column(rows[0], 6))


def _several_systems(run: RunView, systems: Systems) -> Hit:
    if systems.is_clear:
        return Hit(
            f"{systems}; each is read as a run",
            severity="info",
            remedy="For other tools, write a file for each: trectools-plus runs convert "
            f"{quote(run.path)} --output FOLDER",
            fix="no",
        )
    remedy = systems.remedy
    return Hit(str(systems), remedy=remedy[:1].upper() + remedy[1:], fix="no")


_NOT_IN_TAGS = re.compile(r"[^A-Za-z0-9_.\-]")


@rule(
    "R152",
    "tag-form",
    on="run",
    scope="row",
    severity="warning",
    fix=RuleFix("ask", "put the tag in form"),
    checks="tag outside [A-Za-z0-9_.-]{1,64}, or longer than --max-tag-length",
    rationale="The tag becomes a file name, a column heading and a database key. Tracks allow "
    "letters, digits and a few other characters, and at most 12, 15 or 25 of them.",
    example="run.txt:1: warning R152: tag of 80 characters with '+', '/'. Use letters, digits, "
    "'_', '.', '-', at most 64 characters.",
    remedy="Use letters, digits, '_', '.', '-'",
)
def tag_form(run: RunView) -> Hit | None:
    """A tag is too long or has characters that tools do not accept."""
    if run.columns is None or run.n_rows == 0:
        return None
    rows = _rows_of_bad_tags(run)
    if len(rows) == 0:
        return None
    tag = run.rows.tags.text(rows[0])
    invalid = list(dict.fromkeys(_NOT_IN_TAGS.findall(tag)))
    length = f" of {len(tag):,} characters" if len(tag) > run.max_tag_length else f" {quoted(tag)}"
    marks = f" with {', '.join(quoted(mark) for mark in invalid[:5])}" if invalid else ""
    more = ", …" if len(invalid) > 5 else ""
    return Hit(
        f"tag{length}{marks}{more}{on(len(rows))}",
        run.lines(rows),
        len(rows),
        run.column(rows[0], 6),
        remedy=f"Use letters, digits, '_', '.', '-', at most {run.max_tag_length} characters",
    )


def _rows_of_bad_tags(run: RunView) -> Rows:
    number, first = run.rows.tags.numbered()
    is_bad = [
        len(tag) > run.max_tag_length or _NOT_IN_TAGS.search(tag) is not None
        for tag in run.rows.tags.texts(first)
    ]
    return np.flatnonzero(np.array(is_bad)[number])


@fix_step("R151", "R152", order=80)
def write_tags(draft: Draft, job: Job) -> Draft:
    """Write one tag (R151), or replace invalid characters in tags (R152)."""
    if not draft.run.n_rows or not {"R151", "R152"} & job.requested:
        return draft
    import polars as pl

    tags, requested, longest = draft.fields["c6"], job.options.tag, job.options.max_tag_length
    distinct = tags.unique(maintain_order=True).to_list()
    valid_tags = [valid_tag(tag, longest) for tag in distinct]
    one = "R151" in job.requested and len(distinct) > 1
    bad = "R152" in job.requested and valid_tags != distinct
    if not (one or bad):
        return draft
    if one or (requested is not None and len(distinct) == 1):
        tag = (
            tag_for(requested, draft.path, longest)
            if requested
            else (valid_tags if bad else distinct)[0]
        )
        written, what = pl.repeat(tag, tags.len(), eager=True), f"wrote the tag {tag}"
    else:
        written, what = tags.replace_strict(distinct, valid_tags, return_dtype=pl.String), None
    job.done("R151" if one else "R152", int((written != tags).sum()), what)
    return draft.with_fields(c6=written)


def tag_for(requested: str | None, path: str, longest: int = MAX_TAG_LENGTH) -> str:
    """Return the requested tag, or one made from the file's name.

    Raises:
        UsageError: If the requested tag is invalid.
    """
    if requested is None:
        return tag_of_path(path, longest)
    if not requested or valid_tag(requested, longest) != requested:
        raise UsageError(
            f"'{requested}' is not a valid run tag",
            remedy=f"use 1 to {longest} of A-Z a-z 0-9 _ . -",
        )
    return requested
