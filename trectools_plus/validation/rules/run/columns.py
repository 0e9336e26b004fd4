"""Rules on columns 2, 3 and 6 of a run: Q0, swapped documents, ids that programs change, tags."""

from __future__ import annotations

import re
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.errors import UsageError
from trectools_plus.formats.columns.ids import Ids, Rows
from trectools_plus.formats.writing import tag_of_path, valid_tag
from trectools_plus.text import number, on, quoted, visible
from trectools_plus.validation.fixes.session import FileDraft, FixSession
from trectools_plus.validation.registry import (
    LINES_KEPT,
    Hit,
    Kinds,
    Places,
    RuleFix,
    fix_step,
    rule,
)
from trectools_plus.validation.rules.file.shared import conversion_remedy
from trectools_plus.validation.views.runs import RunView

if TYPE_CHECKING:
    from trectools_plus.formats.interchange.systems import Systems


def may_hold_documents(run: RunView) -> bool:
    """Return whether column 2 may contain the document ids: it has more values than column 3.

    This finds more files than rule R108, because writing Q0 deletes the content of column 2.
    """
    if run.documents_in_column_2:
        return True
    n_second, n_third = (len(ids.numbered()[1]) for ids in (run.rows.second, run.doc_ids))
    if run.n_rows < 2 or n_second < n_third:
        return False
    second = run.rows.second
    is_constant = {"Q0", "q0", "0"}.issuperset(second.texts(second.numbered()[1]))
    return n_second > n_third or (n_third == 1 and not is_constant)


def _other_words(run: RunView) -> Places:
    """Rows with another word than Q0 in column 2."""
    rows = run.rows.second.differ_from("Q0")
    return run.places(rows, 2, word=run.rows.second.text)


@rule(
    "R107",
    "second-column",
    on="run",
    scope="row",
    severity="warning",
    fix=RuleFix("safe", "wrote Q0 in column 2"),
    checks="column 2 is not 'Q0' (once per file)",
    rationale="Evaluators ignore column 2, but submission checkers require 'Q0', and pyserini "
    "reads a run without it as MS MARCO's format.",
    example="run.txt:1: warning R107: column 2 is '0', not 'Q0'; TREC checkers reject it and "
    "pyserini reads such a run as MS MARCO. Write Q0 in column 2.",
    remedy="Write Q0 in column 2",
    collect=_other_words,
)
def second_column(run: RunView, found: Places) -> Hit | None:
    """Column 2 is not Q0."""
    if run.documents_in_column_2:
        return None
    return found.hit(
        f"column 2 is {quoted(str(found['word']))}, not 'Q0'{on(found.count)}; TREC checkers "
        "reject it and pyserini reads such a run as MS MARCO",
        query_id=None,
        doc_id=None,
    )


@fix_step("R107", order=70)
def write_q0(draft: FileDraft, session: FixSession) -> FileDraft:
    """Write Q0 in column 2 (R107), unless it may contain the document ids."""
    run = draft.run
    if not len(run.rows.second.differ_from("Q0")):
        return draft
    if may_hold_documents(run):
        session.skip(
            "R107", "column 2 may contain the document ids; check which column contains them"
        )
        return draft
    if np.isnan(run.score).all() and not run.swapped_columns:
        session.skip(
            "R107", "no row has a number in column 5, so the columns may have another meaning"
        )
        return draft
    import polars as pl

    return draft.write(session, "R107", "c2", pl.repeat("Q0", run.n_rows, eager=True))


def _all_rows(run: RunView) -> Places:
    """All rows, if the documents may be in column 2 of the whole file."""
    if len(run.document_swap_signs.third) != 1:
        return Places()
    return run.places(np.arange(run.n_rows), 2, second=run.rows.second.text(0))


@rule(
    "R108",
    "columns-swapped",
    on="run",
    scope="file",
    severity="error",
    fix="no",
    checks="column 3 is 'Q0', or constant, while column 2 varies",
    rationale="Every tool reads column 3 as the document id: each query then has a single "
    "document, named Q0, many times.",
    example="run.txt:1: error R108: columns 2 and 3 look swapped: 'd01' and 'Q0'. Convert "
    "it: trectools-plus runs convert run.txt --columns query=1,doc_id=2,score=5 --output run.txt",
    remedy="Convert it with runs convert --columns query=1,doc_id=2,score=5",
    drop_in="permissive",
    collect=_all_rows,
)
def columns_swapped(run: RunView, found: Places) -> Hit | None:
    """The document ids are in column 2."""
    if not run.documents_in_column_2:
        return None
    words = f"{quoted(str(found['second']))} and {quoted(str(found.doc_id))}"
    return found.hit(
        f"columns 2 and 3 look swapped: {words}",
        doc_id=None,
        remedy=conversion_remedy(run, "query=1,doc_id=2,score=5"),
    )


def _tags(run: RunView) -> Kinds:
    """The rows of the first few tags: enough for the first lines of all but one tag.

    Another kind with an empty name has the number of rows of every tag, by first appearance.
    """
    number, first = run.rows.tags.numbered()
    tags = run.rows.tags.texts(first)
    counts = dict(zip(tags, np.bincount(number).tolist(), strict=True))
    kept = tags if run.every_line else tags[: LINES_KEPT + 1]
    places = {tag: run.places(np.flatnonzero(number == at), 6) for at, tag in enumerate(kept)}
    return Kinds({"": Places(run.n_rows, sums=counts), **places})


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
    collect=_tags,
)
def several_tags(run: RunView, found: Kinds) -> Hit | None:
    """The last column has more than one value."""
    origin = None if run.columns is None else run.columns.origin
    if origin is not None and origin.systems is not None:
        return _several_systems(run, origin.systems)
    counts = found[""].sums
    first, *others = counts
    if not others:
        return None
    n_rows = found[""].count - counts[first]
    parts = [places for tag, places in found.places.items() if tag not in ("", first)]
    rows = replace(
        parts[0], count=n_rows, lines=sorted(line for part in parts for line in part.lines)
    )
    several = f" ({len(counts):,} tags in all)" if len(others) > 1 else on(n_rows)
    tags = f"tag {quoted(others[0])} after {quoted(first)}"
    message = f"{tags}{several}; two runs may have been joined"
    return rows.hit(message, query_id=None, doc_id=None)


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


def _bad_tags(run: RunView) -> Places:
    """Rows with a tag that is too long, or has characters that tools do not accept."""
    if not run.n_rows:
        return Places()
    number, first = run.rows.tags.numbered()
    is_bad = [
        len(tag) > run.max_tag_length or _NOT_IN_TAGS.search(tag) is not None
        for tag in run.rows.tags.texts(first)
    ]
    rows = np.flatnonzero(np.array(is_bad)[number])
    return run.places(rows, 6, tag=run.rows.tags.text)


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
    collect=_bad_tags,
)
def tag_form(run: RunView, found: Places) -> Hit | None:
    """A tag is too long or has characters that tools do not accept."""
    tag = str(found["tag"])
    invalid = list(dict.fromkeys(_NOT_IN_TAGS.findall(tag)))
    length = f" of {len(tag):,} characters" if len(tag) > run.max_tag_length else f" {quoted(tag)}"
    marks = f" with {', '.join(quoted(mark) for mark in invalid[:5])}" if invalid else ""
    more = ", …" if len(invalid) > 5 else ""
    return found.hit(
        f"tag{length}{marks}{more}{on(found.count)}",
        query_id=None,
        doc_id=None,
        remedy=f"Use letters, digits, '_', '.', '-', at most {run.max_tag_length} characters",
    )


@fix_step("R151", "R152", order=80)
def write_tags(draft: FileDraft, session: FixSession) -> FileDraft:
    """Write one tag (R151), or replace invalid characters in tags (R152)."""
    if not draft.run.n_rows:
        return draft
    import polars as pl

    tags, requested, longest = (
        draft.fields["c6"],
        session.options.tag,
        session.options.max_tag_length,
    )
    distinct = tags.unique(maintain_order=True).to_list()
    valid_tags = [valid_tag(tag, longest) for tag in distinct]
    one = "R151" in session.requested and len(distinct) > 1
    bad = "R152" in session.requested and valid_tags != distinct
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
    return draft.write(session, "R151" if one else "R152", "c6", written, what)


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


_WORDS = "NA N/A n/a NULL null NaN nan -NaN -nan None <NA> #NA #N/A"
READ_AS_MISSING = (*_WORDS.split(" "), "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN")
"""Texts that pandas reads as a missing value."""

NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
"""Texts that look like a number."""

UNCHANGED_NUMBER = r"^(?:0|-?[1-9][0-9]{0,17}|-?(?:0|[1-9][0-9]{0,8})\.[0-9]{0,3}[1-9])$"
"""Numbers that are written as they were read."""

_is_number = re.compile(NUMBER, re.ASCII).match
_is_unchanged = re.compile(UNCHANGED_NUMBER, re.ASCII).match
_MISSING = frozenset(READ_AS_MISSING)


def is_fragile(text: str) -> bool:
    """Return whether other programs change an id."""
    if text in _MISSING:
        return True
    return _is_number(text) is not None and _is_unchanged(text) is None


def may_be_fragile(ids: Ids) -> npt.NDArray[np.bool_]:
    """Flag ids for which :func:`is_fragile` may be true: a quick test of ASCII ids.

    Fragile ids begin with a sign, a digit, a point or a letter of a word for a missing value.
    Numbers of up to 16 digits that do not begin with 0 are not fragile.
    """
    first = (ids.words[0] & np.uint64(0xFF)).astype(np.uint8)
    begins = np.zeros(256, np.bool_)
    begins[list(b"+-.0123456789" + b"".join(text[:1].encode() for text in READ_AS_MISSING))] = True
    flags: npt.NDArray[np.bool_] = begins.take(first)
    suspects = np.flatnonzero(flags)
    if len(suspects):
        found = ids if len(suspects) == len(flags) else ids.take(suspects)
        flags[suspects] = ~_is_plain_number(found)
    return flags


def _is_plain_number(ids: Ids) -> npt.NDArray[np.bool_]:
    """Flag ids of up to 16 digits that begin with 1 to 9."""
    other = np.zeros(len(ids), np.uint64)
    for word in ids.words[:2]:
        # The highest bit of each byte: the byte is not 0; it is at least "0"; it is above "9".
        is_used = word + np.uint64(0x5F5F5F5F5F5F5F5F)
        from_zero = word + np.uint64(0x5050505050505050)
        above_nine = word + np.uint64(0x4646464646464646)
        other |= (is_used ^ from_zero) | above_nine
    is_plain: npt.NDArray[np.bool_] = other & np.uint64(0x8080808080808080) == 0
    is_plain &= ids.words[0] & np.uint64(0xFF) != ord("0")
    for word in ids.words[2:]:
        is_plain &= word == 0
    return is_plain


def _fragile_places(run: RunView) -> Places:
    """Rows with a document id, or the first with a query id, that other programs change."""
    queries = np.array([is_fragile(one) for one in run.query_ids], np.bool_)
    of_query = run.blocks.first_rows[queries]
    rows = np.union1d(of_query, _fragile_rows(run.doc_ids))
    if not len(rows):
        return Places()
    is_query = bool(rows[0] in of_query)
    text = run.query_id(rows[0]) if is_query else run.doc_id(rows[0])
    return run.places(rows, 1 if is_query else 3, text=text, is_query=is_query)


@rule(
    "R115",
    "fragile-id",
    on="run",
    scope="row",
    severity="info",
    fix="no",
    checks="id like NA, null, nan, 1e5 or 007 that pandas-based readers change",
    rationale="pandas reads NA as a missing value, and 007 or 1e5 as numbers if the whole column "
    "looks numeric; spreadsheets convert single cells. They then write a different id.",
    example="run.txt:4: info R115: document id 'NA' is read as missing by pandas-based tools. "
    "Read the columns of ids as text in such tools.",
    remedy="Read the columns of ids as text in such tools",
    collect=_fragile_places,
)
def fragile_id(run: RunView, found: Places) -> Hit | None:  # noqa: ARG001
    """Other programs change an id."""
    text = str(found["text"])
    is_query = bool(found["is_query"])
    return found.hit(
        f"{'query' if is_query else 'document'} id {quoted(text)} {_read_as(text)}"
        f"{on(found.count)}",
        doc_id=None if is_query else text,
    )


def _read_as(text: str) -> str:
    if text in READ_AS_MISSING:
        return "is read as missing by pandas-based tools"
    value = number(float(text)) if len(text) < 300 else "a number"
    return f"is read as {visible(value)} by spreadsheets and pandas-based tools"


def _fragile_rows(doc_ids: Ids) -> Rows:
    """Return the rows whose document id is fragile."""
    suspects = np.flatnonzero(may_be_fragile(doc_ids))
    fragile = [is_fragile(one) for one in doc_ids.texts(suspects)]
    return suspects[np.array(fragile, np.bool_)]
