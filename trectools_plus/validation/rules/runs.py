"""Rules on the columns of a run: their number, headers, spacing, tags, ids."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

import numpy as np

from trectools_plus.formats.columns.ids import Flags, Ids, Rows
from trectools_plus.validation.registry import Case, rule
from trectools_plus.validation.rules.files import (
    at_start,
    few_values,
    form_feeds,
    header,
    header_of_table,
    invisible_character,
    long_rows,
    row_behind_hash,
    without_header,
)
from trectools_plus.validation.views.order import Pairs
from trectools_plus.validation.views.places import Places, Value
from trectools_plus.validation.views.runs import RunView

R101 = rule(
    "R101",
    "too-few-columns",
    "error",
    "fewer than 6 fields",
    "trec_eval stops at such a line; other readers skip it or use a wrong column as the score. A "
    "short last line means that writing or copying the file was interrupted.",
    "run.txt:6: error R101: 5 columns, need qid Q0 docid rank score tag. Write all columns on "
    "every line, or name those of another layout: trectools-plus runs convert run.txt --columns.",
    "Write all six columns on every line",
    few_values,
    blocks_fixing=True,
    chunked=False,
)
R102 = rule(
    "R102",
    "too-many-columns",
    "error",
    "more than 6 fields",
    "A blank inside a document id shifts all later columns: trec_eval then reads the rank as the "
    "score and gives no warning. It drops all words after the sixth column, so a tag of several "
    "words is cut.",
    "run.txt:1: error R102: 7 columns; an id or the tag may contain a space. Remove the blanks "
    "inside ids and tags.",
    "Remove the blanks inside ids and tags, or quote values that contain the separator",
    Case(
        "error",
        "{n_fields:column}; an id or the tag may contain a space[ (on {count} lines)]",
        lambda run: long_rows(run) + run.words_after_tag,
        blocks=lambda run: None if len(long_rows(run)) else False,
    ),
    drop_in="scores",
    blocks_fixing=True,
    chunked=False,
)


def why_not_read(run: RunView, _: Places) -> Mapping[str, Value]:
    """Return why a file in another form is not read, and what to do."""
    from trectools_plus.formats.interchange.detection import json_problem

    why, remedy = json_problem(run.file.source, "run") or (_SIX_COLUMNS, None)
    return {"why": why, "do": remedy or f"{run.conversion} --columns query=1,doc_id=3,score=5"}


_SIX_COLUMNS = "a run has six columns separated by spaces or tabs"
R103 = rule(
    "R103",
    "other-format",
    "error",
    "JSON, CSV, quoted fields or HTML in the first 4 KiB",
    "A run has columns separated by blanks. trec_eval reads other formats as broken rows; quotes "
    "become part of the ids, which then match nothing in the qrels.",
    "run.txt:1: error R103: the format is comma-separated; a run has six columns separated by "
    "spaces or tabs. trectools-plus runs convert run.txt --columns query=1,doc_id=3,score=5.",
    "Write 'qid Q0 docid rank score tag' on each line",
    without_header,
    Case(
        "error",
        "the format is {view.shape.format}; {why}",
        at_start(lambda run: run.shape.verdict == "other-format"),
        shows=why_not_read,
        remedy="{do}",
    ),
    blocks_fixing=True,
    chunked=False,
)
R104 = rule(
    "R104",
    "wrong-kind",
    "error",
    "all rows have 4 fields with an integer last: qrels",
    "Runs and qrels are easily swapped, because tools differ in which one they expect first.",
    "run.txt:1: error R104: this looks like qrels (4 columns, the last a grade). Check the order "
    "of the arguments; use 'qrels validate' for qrels.",
    "Check the order of the arguments; use 'qrels validate' for qrels",
    Case(
        "error",
        "this looks like qrels (4 columns, the last a grade)",
        at_start(lambda run: run.shape.verdict == "wrong-kind"),
    ),
    blocks_fixing=True,
    chunked=False,
)
R105 = rule(
    "R105",
    "header-line",
    "error",
    "first line is not data: its score field is a word, and the next line is a valid row",
    "Runs have no header. trec_eval reads a header as a result with score 0 for a query that does "
    "not exist; stricter readers stop.",
    "run.txt:1: error R105: header line 'qid Q0 docno rank score tag'. Remove it.",
    "Remove it",
    header_of_table,
    header("header line {text!q}"),
    fix="safe",
    fixed="left out the header line",
    drop_in="scores",
    chunked=False,
)


def loose_rows(run: RunView) -> int:
    """Return the number of rows with other blanks than one between two columns."""
    facts = run.file.facts
    is_mixed = facts.spaced_rows > 0 and facts.tabbed_rows > 0
    n_loose = len(facts.loose_rows.lines) or int(is_mixed)
    return n_loose if run.shape.verdict == "rows" else 0


R106 = rule(
    "R106",
    "odd-spacing",
    "info",
    "leading, trailing or mixed blanks; form feed or vertical tab is a warning",
    "trec_eval accepts any mix of blanks. Readers that split at a single tab or blank see empty "
    "columns. C treats form feeds and vertical tabs as blanks; other languages may not.",
    "run.txt: info R106: leading, trailing or repeated blanks, or both tabs and spaces. Put one "
    "blank between columns.",
    "Put one blank between columns",
    form_feeds,
    Case("info", "leading, trailing or repeated blanks, or both tabs and spaces", loose_rows),
    fix="safe",
    fixed="put one blank between columns",
    chunked=False,
)
R112 = row_behind_hash("R112", "a row")
R114 = invisible_character("R114", 6)


R108 = rule(
    "R108",
    "columns-swapped",
    "error",
    "column 3 is 'Q0', or constant, while column 2 varies",
    "Every tool reads column 3 as the document id: each query then has a single document, named "
    "Q0, many times.",
    "run.txt:1: error R108: columns 2 and 3 look swapped: 'd01' and 'Q0'. Convert it with runs "
    "convert --columns query=1,doc_id=2,score=5.",
    "Convert it with runs convert --columns query=1,doc_id=2,score=5",
    Case(
        "error",
        "columns 2 and 3 look swapped: {second!q} and {doc_id!q}",
        lambda run: np.arange(run.n_rows if run.documents_in_column_2 else 0),
        column=2,
    ),
    drop_in="permissive",
    blocks_fixing=True,
)
R107 = rule(
    "R107",
    "second-column",
    "warning",
    "column 2 is not 'Q0' (once per file)",
    "Evaluators ignore column 2, but submission checkers require 'Q0', and pyserini reads a run "
    "without it as MS MARCO's format.",
    "run.txt:1: warning R107: column 2 is '0', not 'Q0'; TREC checkers reject it and pyserini "
    "reads such a run as MS MARCO. Write Q0 in column 2.",
    "Write Q0 in column 2",
    Case(
        "warning",
        "column 2 is {second!q}, not 'Q0'[ (on {count} rows)]; TREC checkers reject it and "
        "pyserini reads such a run as MS MARCO",
        lambda run: run.rows.second.differ_from("Q0"),
        column=2,
    ),
    fix="safe",
    fixed="wrote Q0 in column 2",
    unless=("R108",),
)


def other_tags(run: RunView) -> Pairs:
    """Return the rows with another tag than the first."""
    rows = run.rows.tags.differ_from(run.tag)
    return Pairs(rows, np.zeros_like(rows))


R151 = rule(
    "R151",
    "several-tags",
    "warning",
    "more than one tag, or a column of a table that may name several systems",
    "The last column names the run. Two names in one file mean that two runs were joined, or that "
    "a later step wrote only some rows. A column of a table can name the system of each row.",
    "run.txt:5: warning R151: tag 'other' after 'base'; two runs may have been joined. Keep one "
    "run per file, with one tag.",
    "Keep one run per file, with one tag",
    Case(
        "warning",
        "{view.systems} may name systems, because a query has several of its values",
        lambda run: run.systems is not None,
        remedy="Write a file for each system, or remove the column",
        fix="no",
    ),
    Case(
        "warning",
        "tag {tag!q} after {other_tag!q}[ (on {count} rows)]; two runs may have been joined",
        other_tags,
        column=6,
    ),
    fix="ask",
    fixed="wrote one tag",
)

_NOT_IN_TAGS = re.compile(r"[^A-Za-z0-9_.\-]")


def bad_tags(run: RunView) -> Rows:
    """Return rows with a tag that is too long, or has characters that tools do not accept."""
    word, first = run.rows.tags.numbered()
    tags = run.rows.tags.texts(first)
    is_bad = [len(tag) > run.max_tag_length or bool(_NOT_IN_TAGS.search(tag)) for tag in tags]
    return np.flatnonzero(np.array(is_bad, np.bool_)[word])


R152 = rule(
    "R152",
    "tag-form",
    "warning",
    "tag outside [A-Za-z0-9_.-]{1,64}; at most 25 characters in the profile submission",
    "The tag becomes a file name, a column heading and a database key. Tracks allow letters, "
    "digits and a few other characters, and at most 12, 15 or 25 of them.",
    "run.txt:1: warning R152: tag 'a+b' is too long, or has characters that tools do not accept. "
    "Use letters, digits, '_', '.', '-', at most 64 characters.",
    "Use letters, digits, '_', '.', '-', at most {view.max_tag_length} characters",
    Case(
        "warning",
        "tag {tag!q} is too long, or has characters that tools do not accept[ (on {count} rows)]",
        bad_tags,
        column=6,
    ),
    fix="ask",
    fixed="put the tag in form",
)


_WORDS = "NA N/A n/a NULL null NaN nan -NaN -nan None <NA> #NA #N/A"
READ_AS_MISSING = (*_WORDS.split(" "), "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN")
"""Texts that pandas reads as a missing value."""

_is_number = re.compile(r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$", re.ASCII).match
_is_unchanged = re.compile(
    r"^(?:0|-?[1-9][0-9]{0,17}|-?(?:0|[1-9][0-9]{0,8})\.[0-9]{0,3}[1-9])$", re.ASCII
).match
"""Numbers that are written as they were read."""


def is_fragile(text: str) -> bool:
    """Return whether other programs change an id."""
    is_changed = _is_number(text) is not None and _is_unchanged(text) is None
    return is_changed or text in READ_AS_MISSING


def may_be_fragile(ids: Ids) -> Flags:
    """Flag ids for which :func:`is_fragile` may be true: a quick test of ASCII ids.

    Fragile ids begin with a sign, a digit, a point or a letter of a word for a missing value.
    Numbers of up to 16 digits that do not begin with 0 are not fragile.
    """
    begins = np.zeros(256, np.bool_)
    begins[list(b"+-.0123456789" + b"".join(text[:1].encode() for text in READ_AS_MISSING))] = True
    first = ids.words[0] & np.uint64(0xFF)
    flags: Flags = begins.take(first.astype(np.uint8))
    if not flags.any():
        return flags
    other = np.zeros(len(ids), np.uint64)
    for word in ids.words[:2]:
        # The highest bit of each byte: the byte is not 0; it is at least "0"; it is above "9".
        is_used = word + np.uint64(0x5F5F5F5F5F5F5F5F)
        from_zero = word + np.uint64(0x5050505050505050)
        other |= (is_used ^ from_zero) | (word + np.uint64(0x4646464646464646))
    is_long = np.any([word != 0 for word in ids.words[2:]], axis=0)
    flags &= (other & np.uint64(0x8080808080808080) != 0) | (first == ord("0")) | is_long
    return flags


def fragile_rows(run: RunView) -> Rows:
    """Return rows with a document id, or the first with a query id, that other programs change."""
    suspects = np.flatnonzero(may_be_fragile(run.doc_ids))
    fragile = [is_fragile(text) for text in run.doc_ids.texts(suspects)]
    queries = np.array([is_fragile(text) for text in run.query_ids], np.bool_)
    return np.union1d(run.blocks.first_rows[queries], suspects[np.array(fragile, np.bool_)])


fragile = partial(
    Case,
    "info",
    "query id {query_id!q} or document id {doc_id!q} is read as missing or as another number by "
    "spreadsheets and pandas-based tools[ (on {count} rows)]",
    fragile_rows,
)
R115 = rule(
    "R115",
    "fragile-id",
    "info",
    "id like NA, null, nan, 1e5 or 007 that pandas-based readers change",
    "pandas reads NA as a missing value, and 007 or 1e5 as numbers if the whole column looks "
    "numeric; spreadsheets convert single cells. They then write a different id.",
    "run.txt:4: info R115: query id '1' or document id 'NA' is read as missing or as another "
    "number by spreadsheets and pandas-based tools. Read the columns of ids as text in such tools.",
    "Read the columns of ids as text in such tools",
    fragile(column=1, given=lambda _, places: is_fragile(str(places.query_id))),
    fragile(column=3),
)
