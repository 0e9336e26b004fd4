"""Rules on the layout and on columns 2, 3 and 6 of a run: fields, Q0, changed ids, tags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.formats.columns.ids import Flags, Ids, Rows
from trectools_plus.validation.registry import Case, Rule
from trectools_plus.validation.rules.file.hidden import INVISIBLE_BLANKS as INVISIBLE
from trectools_plus.validation.rules.file.lines import spacing_cases
from trectools_plus.validation.rules.file.shared import (
    conversion_remedy,
    converted_with,
    few_values,
    header,
    header_of_table,
    in_other_form,
    long_rows,
    many_values,
    row_behind_hash,
    short_rows,
)
from trectools_plus.validation.views.order import Pairs
from trectools_plus.validation.views.places import Places, Value
from trectools_plus.validation.views.runs import RunView

if TYPE_CHECKING:
    pass

LAYOUT = "qid Q0 docid rank score tag"


R101 = Rule(
    "R101",
    "too-few-columns",
    "run",
    "error",
    checks="fewer than 6 fields",
    rationale="trec_eval stops at such a line; other readers skip it or use a wrong column as the "
    "score. A short last line means that writing or copying the file was interrupted.",
    example="run.txt:6: error R101: 5 columns, need 6 (qid Q0 docid rank score tag). "
    "Write all six columns on every line.",
    remedy="Write all six columns on every line",
    blocks_fixing=True,
    cases=(
        few_values,
        Case(
            "error",
            f"{{n_fields:column}}, need 6 ({LAYOUT})[ (on {{count}} lines)]",
            # An invisible character may join two fields.
            lambda run: short_rows(run).where(lambda text: not INVISIBLE.search(text.encode())),
            remedy="Write all six columns on every line, or convert it with runs convert --columns",
        ),
    ),
)


too_many = partial(
    Case,
    "error",
    "{n_fields:column}, need 6; an id or the tag may contain a space[ (on {count} lines)]",
    lambda run: long_rows(run) + run.words_after_tag,
)
R102 = Rule(
    "R102",
    "too-many-columns",
    "run",
    "error",
    checks="more than 6 fields",
    rationale="A blank inside a document id shifts all later columns: trec_eval then reads the "
    "rank as the score and gives no warning. It drops all words after the sixth column, so a tag "
    "of several words is cut.",
    example="run.txt:1: error R102: 7 columns, need 6; an id or the tag may contain a space. "
    "Remove the blanks inside ids and tags.",
    remedy="Remove the blanks inside ids and tags",
    drop_in="scores",
    blocks_fixing=True,
    cases=(
        many_values,
        too_many(given=lambda run, _: len(long_rows(run)) > 0),
        too_many(blocks=False),
    ),
)


def why_not_read(run: RunView, _: Places) -> Mapping[str, Value]:
    """Return why a file in another form is not read, and what to do."""
    from trectools_plus.formats.interchange.detection import json_problem

    problem = json_problem(run.file.source, "run")
    why, remedy = problem or ("a run has six columns separated by spaces or tabs", None)
    return {
        "format": str(run.shape.format),
        "why": why,
        "do": remedy or conversion_remedy(run, "query=1,doc_id=3,score=5"),
    }


R103 = Rule(
    "R103",
    "other-format",
    "run",
    "error",
    checks="JSON, CSV, quoted fields or HTML in the first 4 KiB",
    rationale="A run has columns separated by blanks. trec_eval reads other formats as broken "
    "rows; quotes become part of the ids, which then match nothing in the qrels.",
    example="run.txt:1: error R103: the format is comma-separated, but a run has six columns "
    "separated by spaces or tabs. Write 'qid Q0 docid rank score tag' on each line.",
    remedy=f"Write '{LAYOUT}' on each line",
    blocks_fixing=True,
    cases=(
        in_other_form,
        Case(
            "error",
            "the format is {format}; {why}",
            lambda run: run.first_place(if_=run.shape.verdict == "other-format"),
            shows=why_not_read,
            remedy="{do}",
            fix="no",
        ),
    ),
)
R104 = Rule(
    "R104",
    "wrong-kind",
    "run",
    "error",
    checks="all rows have 4 fields with an integer last: qrels",
    rationale="Runs and qrels are easily swapped, because tools differ in which one they expect "
    "first.",
    example="run.txt:1: error R104: this looks like qrels (4 columns, the last a grade). Check "
    "the order of the arguments; use 'qrels validate' for qrels.",
    remedy="Check the order of the arguments; use 'qrels validate' for qrels",
    blocks_fixing=True,
    cases=(
        Case(
            "error",
            "this looks like qrels (4 columns, the last a grade)",
            lambda run: run.first_place(if_=run.shape.verdict == "wrong-kind"),
        ),
    ),
)
R105 = Rule(
    "R105",
    "header-line",
    "run",
    "error",
    fix="safe",
    fixed="left out the header line",
    checks="first line is not data: its score field is a word, and the next line is a valid row",
    rationale="Runs have no header. trec_eval reads a header as a result with score 0 for a query "
    "that does not exist; stricter readers stop.",
    example="run.txt:1: error R105: header line 'qid Q0 docno rank score tag'. Remove it.",
    remedy="Remove it",
    drop_in="scores",
    cases=(header_of_table, header("header line {text!q}")),
)
R106 = Rule(
    "R106",
    "odd-spacing",
    "run",
    "info",
    fix="safe",
    fixed="put one blank between columns",
    checks="leading, trailing or mixed blanks; form feed or vertical tab is a warning",
    rationale="trec_eval accepts any mix of blanks. Readers that split at a single tab or blank "
    "see empty columns. C treats form feeds and vertical tabs as blanks; other languages may not.",
    example="run.txt: info R106: mixed tabs and spaces. Put one blank between columns.",
    remedy="Put one blank between columns",
    cases=(
        *spacing_cases,
        Case(
            "info",
            "leading, trailing or repeated blanks[ on {count} lines]",
            lambda run: len(run.columns.facts.loose_rows.lines),
            given=lambda run, _: run.shape.verdict == "rows",
        ),
        Case(
            "info",
            "mixed tabs and spaces",
            lambda run: int(run.columns.facts.has_spaces and run.columns.facts.has_tabs),
            given=lambda run, _: run.shape.verdict == "rows",
        ),
    ),
)
R112 = row_behind_hash("R112", "run", "a row")

R108 = Rule(
    "R108",
    "columns-swapped",
    "run",
    "error",
    checks="column 3 is 'Q0', or constant, while column 2 varies",
    rationale="Every tool reads column 3 as the document id: each query then has a single "
    "document, named Q0, many times.",
    example="run.txt:1: error R108: columns 2 and 3 look swapped: 'd01' and 'Q0'. Convert "
    "it: trectools-plus runs convert run.txt --columns query=1,doc_id=2,score=5 --output run.txt",
    remedy="Convert it with runs convert --columns query=1,doc_id=2,score=5",
    drop_in="permissive",
    blocks_fixing=True,
    chunked=True,
    cases=(
        Case(
            "error",
            "columns 2 and 3 look swapped: {second!q} and {doc_id!q}",
            lambda run: np.arange(run.n_rows if len(run.facts.third) == 1 else 0),
            given=lambda run, _: run.documents_in_column_2,
            shows=converted_with("query=1,doc_id=2,score=5"),
            column=2,
            about="query",
            remedy="{convert}",
        ),
    ),
)
R107 = Rule(
    "R107",
    "second-column",
    "run",
    "warning",
    fix="safe",
    fixed="wrote Q0 in column 2",
    checks="column 2 is not 'Q0' (once per file)",
    rationale="Evaluators ignore column 2, but submission checkers require 'Q0', and pyserini "
    "reads a run without it as MS MARCO's format.",
    example="run.txt:1: warning R107: column 2 is '0', not 'Q0'; TREC checkers reject it and "
    "pyserini reads such a run as MS MARCO. Write Q0 in column 2.",
    remedy="Write Q0 in column 2",
    chunked=True,
    unless=(R108,),
    cases=(
        Case(
            "warning",
            "column 2 is {second!q}, not 'Q0'[ (on {count} rows)]; TREC checkers reject it and "
            "pyserini reads such a run as MS MARCO",
            lambda run: run.rows.second.differ_from("Q0"),
            column=2,
            about="file",
        ),
    ),
)


def other_tags(run: RunView) -> Pairs:
    """Return the rows with another tag than the first."""
    rows = run.rows.tags.differ_from(run.tag)
    return Pairs(rows, np.zeros_like(rows))


R151 = Rule(
    "R151",
    "several-tags",
    "run",
    "warning",
    fix="ask",
    fixed="wrote one tag",
    checks="more than one tag, or a column of a table that may name several systems",
    rationale="The last column names the run. Two names in one file mean that two runs were "
    "joined, or that a later step wrote only some rows. A column of a table can name the system "
    "of each row.",
    example="run.txt:5: warning R151: tag 'other' after 'base'; two runs may have been joined. "
    "Keep one run per file, with one tag.",
    remedy="Keep one run per file, with one tag",
    chunked=True,
    cases=(
        Case(
            "warning",
            "{systems} may name systems, because a query has several of its values",
            lambda run: int(run.systems is not None),
            shows=lambda run, _: {"systems": run.systems},
            remedy="Write a file for each system, or remove the column",
            fix="no",
        ),
        Case(
            "warning",
            "tag {tag!q} after {other_tag!q}[ (on {count} rows)]; two runs may have been joined",
            other_tags,
            column=6,
            about="file",
        ),
    ),
)

_NOT_IN_TAGS = re.compile(r"[^A-Za-z0-9_.\-]")


def bad_tags(run: RunView) -> Rows:
    """Return rows with a tag that is too long, or has characters that tools do not accept."""
    word, first = run.rows.tags.numbered()
    tags = run.rows.tags.texts(first)
    is_bad = [len(tag) > run.max_tag_length or bool(_NOT_IN_TAGS.search(tag)) for tag in tags]
    return np.flatnonzero(np.array(is_bad, np.bool_)[word]) if tags else np.empty(0, np.int64)


R152 = Rule(
    "R152",
    "tag-form",
    "run",
    "warning",
    fix="ask",
    fixed="put the tag in form",
    checks="tag outside [A-Za-z0-9_.-]{1,64}; at most 25 characters in the profile submission",
    rationale="The tag becomes a file name, a column heading and a database key. Tracks allow "
    "letters, digits and a few other characters, and at most 12, 15 or 25 of them.",
    example="run.txt:1: warning R152: tag 'a+b' is too long, or has characters that tools do not "
    "accept. Use letters, digits, "
    "'_', '.', '-', at most 64 characters.",
    remedy="Use letters, digits, '_', '.', '-', at most {limit} characters",
    chunked=True,
    cases=(
        Case(
            "warning",
            "tag {tag!q} is too long, or has characters that tools do not accept"
            "[ (on {count} rows)]",
            bad_tags,
            shows=lambda run, _: {"limit": run.max_tag_length},
            column=6,
            about="file",
        ),
    ),
)


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


fragile = partial(Case, "info", where=fragile_rows)
IS_READ_AS = (
    "is read as missing or as another number by spreadsheets and pandas-based tools"
    "[ (on {count} rows)]"
)
R115 = Rule(
    "R115",
    "fragile-id",
    "run",
    "info",
    checks="id like NA, null, nan, 1e5 or 007 that pandas-based readers change",
    rationale="pandas reads NA as a missing value, and 007 or 1e5 as numbers if the whole column "
    "looks numeric; spreadsheets convert single cells. They then write a different id.",
    example="run.txt:4: info R115: document id 'NA' is read as missing or as another number by "
    "spreadsheets and pandas-based tools. Read the columns of ids as text in such tools.",
    remedy="Read the columns of ids as text in such tools",
    chunked=True,
    cases=(
        fragile(
            f"query id {{query_id!q}} {IS_READ_AS}",
            given=lambda _, places: is_fragile(str(places.first["query_id"])),
            column=1,
            about="query",
        ),
        fragile(f"document id {{doc_id!q}} {IS_READ_AS}", column=3),
    ),
)
