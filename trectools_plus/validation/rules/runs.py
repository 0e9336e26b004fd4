"""Rules on runs: first on their columns, then on ranks, scores and documents.

trec_eval sorts by score and breaks ties by document id, highest first. Version 9, and with it
pytrec_eval and ir_measures, compares scores as 32-bit floats; version 10 and ranx in 64 bits. If
the rank column disagrees with the scores, one of the two columns is wrong.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import partial

import numpy as np

from trectools_plus.formats.columns.ids import Flags, Ids, Rows
from trectools_plus.formats.interchange.names import names_of
from trectools_plus.formats.writing import valid_tag
from trectools_plus.validation.registry import Case, Texts, rule
from trectools_plus.validation.rules.files import (
    CONTINUES,
    at_start,
    few_values,
    form_feeds,
    group_by_query,
    header,
    header_of_table,
    header_with_repeats,
    in_order,
    invisible_character,
    long_rows,
    other_form,
    returning_queries,
    row_behind_hash,
    without_header,
)
from trectools_plus.validation.views.kinds import RunView
from trectools_plus.validation.views.places import NO_PAIRS, NO_ROWS, Pairs, Places, places_in_query
from trectools_plus.validation.views.tables import NOT_FINITE


def bad_tags(run: RunView) -> Flags:
    """Flag rows with a tag that is too long, or has characters that tools do not accept."""
    word, first = run.rows.tags.numbered()
    tags = run.rows.tags.texts(first)
    is_bad = [valid_tag(tag, run.max_tag_length) != tag for tag in tags]
    return np.array(is_bad, np.bool_)[word]


def write_valid_tags(run: RunView, rows: Texts) -> Texts:
    """Replace characters of tags that tools do not accept, and cut long tags."""
    tags = rows["tag"].unique()
    valid = [valid_tag(tag, run.max_tag_length) for tag in tags]
    return rows.with_columns(rows["tag"].replace(tags, valid))


def write_q0(run: RunView, rows: Texts) -> Texts:
    """Write Q0 in column 2, unless it has more values than column 3: it may contain documents."""
    import polars as pl

    n_values, n_documents = (len(ids.numbered()[1]) for ids in (run.rows.second, run.doc_ids))
    return rows if n_values > n_documents else rows.with_columns(q0=pl.lit("Q0"))


READ_AS_MISSING = names_of(
    "NA N/A n/a NULL null NaN nan -NaN -nan None <NA> #NA #N/A 1.#IND 1.#QNAN -1.#IND -1.#QNAN"
)
"""Texts that pandas reads as a missing value."""

_is_number = re.compile(r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$", re.ASCII).match
_is_unchanged = re.compile(
    r"^(?:0|-?[1-9][0-9]{0,17}|-?(?:0|[1-9][0-9]{0,8})\.[0-9]{0,3}[1-9])$", re.ASCII
).match
"""Numbers that are written as they were read."""


def is_fragile(text: str) -> bool:
    """Return whether other programs change an id."""
    return bool(_is_number(text) and not _is_unchanged(text)) or text in READ_AS_MISSING


def may_be_fragile(ids: Ids) -> Rows:
    """Return ids for which :func:`is_fragile` may be true: a quick test of ASCII ids.

    Fragile ids begin with a sign, a digit, a point or a letter of a word for a missing value.
    Numbers of up to 16 digits that do not begin with 0 are not fragile.
    """
    begins = np.zeros(256, np.bool_)
    begins[list(b"+-.0123456789" + b"".join(text[:1].encode() for text in READ_AS_MISSING))] = True
    suspects = np.flatnonzero(begins[ids.words[0].astype(np.uint8)])
    letters = np.stack([word[suspects] for word in ids.words], axis=1).view(np.uint8)
    are_digits = ((letters - ord("0") < 10) | (letters == 0)).all(axis=1)
    is_number: Flags = are_digits & (letters[:, 0] != ord("0")) & ~letters[:, 16:].any(axis=1)
    return suspects[~is_number]


def fragile_rows(run: RunView) -> Rows:
    """Return rows with a document id, or the first with a query id, that other programs change."""
    suspects = may_be_fragile(run.doc_ids)
    documents = [is_fragile(text) for text in run.doc_ids.texts(suspects)]
    queries = [is_fragile(text) for text in run.query_ids]
    rows = suspects[np.array(documents, np.bool_)]
    of_queries = run.blocks.first_rows[np.array(queries, np.bool_)]
    # Unlike `np.union1d`, this does not import `numpy.ma`.
    return np.flatnonzero(np.bincount(np.append(of_queries, rows)))


fragile = partial(
    Case,
    "info",
    "query id {query_id!q} or document id {doc_id!q} is read as missing or as another number by "
    "spreadsheets and pandas-based tools[ (on {count} rows)]",
    fragile_rows,
)


# Ranks, scores and documents

MIN_REVERSED = 0.9
"""Minimum share of almost completely reversed queries in a run whose scores are reversed."""


def starts_of_rises(run: RunView) -> Rows:
    """Return the first row whose score rises, of each query in which scores rise with rank."""
    ranked, places = run.ranked, run.ranked.rises
    if run.columns is None or not len(places):
        return NO_ROWS
    rows = np.sort(ranked.rows(places[ranked.taus[ranked.query[places]] < 0]))
    _, first = np.unique(run.blocks.query[rows], return_index=True)
    return np.sort(rows[first])


def are_most(run: RunView, places: Places) -> bool:
    """Return whether the scores of most queries rise."""
    return not run.swapped_columns and 2 * places.count > run.n_larger


RISING = (
    "scores rise with rank in {count} of {view.n_larger:query|queries}; evaluators sort by score"
)


def is_clear(run: RunView, _: Places) -> bool:
    """Return whether R121 does not report swapped columns of ranks and scores."""
    return not run.swapped_columns


def is_complete(run: RunView, _: Places) -> bool:
    """Return whether all rows could be read, so that gaps between ranks show missing rows."""
    return not len(run.misshapen) + len(run.file.comments) + len(run.file.nul)


def number_ranks(run: RunView, rows: Texts) -> Texts:
    """Number the ranks by falling score, rising rank and falling document id."""
    import polars as pl

    falling_ids = [~key for key in run.doc_ids.sort_keys()]
    order = np.lexsort((*falling_ids, run.rank, -run.score, run.blocks.query))
    rank = pl.int_range(1, pl.len() + 1).over("query_id").cast(pl.String)
    return in_order(rows, order).with_columns(rank=rank)


_NUMBERED = "numbered the ranks 1, 2, 3, … by score"
on_ranks = partial(rule, fix=number_ranks, fixed=_NUMBERED, blocks_scoring=False)
_BY_SCORE = "Number the ranks 1, 2, 3, … by score"


def other_starts(run: RunView) -> Rows:
    """Return the first row by rank of each query that does not start at 1."""
    ranked, heads = run.ranked, run.ranked.heads
    return ranked.rows(heads[abs(ranked.rank[heads] - 1) > 0])


def gaps(run: RunView) -> Pairs:
    """Return the rows whose rank is more than 1 above the one before."""
    ranked = run.ranked
    places = np.flatnonzero(ranked.rank_steps > 1) + 1
    unreadable = np.isin(ranked.query[places], ranked.query[np.isnan(ranked.rank)])
    return ranked.pairs(places[~unreadable])


def falling_ranks(run: RunView) -> Places:
    """Return the rows whose rank is below that of the row before."""
    rows = run.grouped.rows(np.flatnonzero(run.grouped.rank_steps < 0) + 1)
    return Places(len(rows), run.lines(np.sort(rows)))


def descents(run: RunView) -> Places:
    """Return the queries below the one before, both as texts and with numbers as numbers."""
    ids = run.query_ids
    keys = [re.sub("[0-9]{1,18}", lambda match: match[0].zfill(18), text) for text in ids]
    places = [at for at in range(1, len(ids)) if keys[at] < keys[at - 1]]
    if not places or ids == sorted(ids):
        return Places()
    query_id, before = ids[places[0]], ids[places[0] - 1]
    return Places(len(places), query_id=query_id, first={"query_id": query_id, "before": before})


def rows_where(run: RunView, pattern: str, rows: Rows, *, matches: bool = True) -> Rows:
    """Return those of some rows whose score matches a pattern, or those whose score does not."""
    if run.columns is None or not len(rows):
        return rows if matches else rows[:0]
    flags = [bool(re.match(pattern, text)) == matches for text in run.texts(5, rows)]
    return rows[np.array(flags, np.bool_)]


again = partial(
    Case,
    "error",
    "{doc_id!v} is repeated in query {query_id!v} ({other_place}: score {other_score!v}; here: "
    "{score!v})[ ({count} rows)]",
    lambda run: run.repeats,
    column=3,
)


def rows_beyond_limit(run: RunView) -> Rows:
    """Return the first row beyond the limit of each query that exceeds it."""
    if run.max_depth is None or run.deepest <= run.max_depth:
        return NO_ROWS
    return run.grouped.rows(np.flatnonzero(places_in_query(run.grouped.query) == run.max_depth))


def ties_against_ranks(run: RunView) -> Pairs:
    """Return the ties that the ranks order against trec_eval, which puts higher ids first."""
    rows, others = run.ties64.rows, run.ties64.others
    ids, other_ids = (np.array(run.doc_ids.texts(part), object) for part in (rows, others))
    return run.ties64.filter((ids > other_ids) & (run.rank[rows] > run.rank[others]))


_FALLING = "Write scores that fall with rank"


def ties_of_other_scores(run: RunView) -> Pairs:
    """Return the rows whose score equals the previous one only in 32 bits."""
    pairs = run.ties32
    return pairs.filter(run.score[pairs.rows] != run.score[pairs.others])


def ties_of_other_texts(run: RunView) -> Pairs:
    """Return the rows whose score equals the previous one in 64 bits, but not as written."""
    pairs, is_short = run.ties64, run.rows.is_short
    if run.columns is None or len(ties_of_other_scores(run)):
        return NO_PAIRS
    pairs = pairs.filter(~(is_short[pairs.rows] & is_short[pairs.others]))
    texts = zip(run.texts(5, pairs.rows), run.texts(5, pairs.others), strict=True)
    return pairs.filter(np.array([_differ(text, other) for text, other in texts], np.bool_))


def _differ(left: str, right: str) -> bool:
    try:
        return left != right and Decimal(left) != Decimal(right)
    except InvalidOperation:
        return False


RULES = (
    rule(
        "R101",
        "too-few-columns",
        "error",
        "fewer than 6 fields",
        "trec_eval stops at such a line; other readers skip it or use a wrong column as the "
        "score. A short last line means that writing or copying the file was interrupted.",
        "run.txt:6: error R101: 5 columns, need query_id q0 doc_id rank score tag. Write all "
        "columns on every line, or name those of another layout: trectools-plus runs convert "
        "run.txt --columns query=COLUMN,doc_id=COLUMN,score=COLUMN --output OUT.",
        "Write all six columns on every line",
        few_values(
            remedy="Write all columns on every line, or name those of another layout: "
            "{view.conversion} --columns query=COLUMN,doc_id=COLUMN,score=COLUMN --output OUT"
        ),
        blocks_fixing=True,
    ),
    rule(
        "R102",
        "too-many-columns",
        "error",
        "more than 6 fields",
        "A blank inside a document id shifts all later columns: trec_eval then reads the rank as "
        "the score and gives no warning. It drops all words after the sixth column, so a tag of "
        "several words is cut.",
        "run.txt:1: error R102: 7 columns; an id or the tag may contain a space or separator. "
        "Remove the blanks inside ids and tags.",
        "Remove the blanks inside ids and tags, or quote values that contain the separator",
        "{n_fields:column}; an id or the tag may contain a space or separator[ (on {count} lines)]",
        lambda run: long_rows(run) or run.words_after_tag,
        blocks=lambda run: None if len(long_rows(run)) else False,
        drop_in="scores",
        blocks_fixing=True,
    ),
    rule(
        "R103",
        "other-format",
        "error",
        "JSON, CSV, quoted fields or HTML in the first 4 KiB",
        "A run has columns separated by blanks. trec_eval reads other formats as broken rows; "
        "quotes become part of the ids, which then match nothing in the qrels.",
        "run.txt:1: error R103: the format is comma-separated; a run has six columns separated by "
        "spaces or tabs. trectools-plus runs convert run.txt --columns "
        "query=1,doc_id=3,score=5 --output OUT, where the file has the columns 1, Q0, d01, 1, 9.5, "
        "base.",
        "Write 'qid Q0 docid rank score tag' on each line",
        without_header,
        other_form,
        blocks_fixing=True,
        chunked=False,
    ),
    rule(
        "R104",
        "wrong-kind",
        "error",
        "all rows have 4 fields with an integer last: qrels",
        "Runs and qrels are easily swapped, because tools differ in which one they expect first.",
        "run.txt:1: error R104: this looks like qrels (4 columns, the last a grade). Check the "
        "order of the arguments; use 'trectools-plus qrels validate' for qrels.",
        "Check the order of the arguments; use 'trectools-plus qrels validate' for qrels",
        "this looks like qrels (4 columns, the last a grade)",
        at_start(lambda run: run.file.verdict == "wrong-kind"),
        blocks_fixing=True,
        chunked=False,
    ),
    rule(
        "R105",
        "header-line",
        "error",
        "first line is not data: its score field is a word, and the next line is a valid row",
        "Runs have no header. trec_eval reads a header as a result with score 0 for a query that "
        "does not exist; stricter readers stop.",
        "run.txt:1: error R105: header line 'qid Q0 docno rank score tag'. Remove it.",
        "Remove it",
        header_with_repeats(
            remedy="Give the numbers of the columns: {view.conversion} --columns "
            "query=NUMBER,doc_id=NUMBER,score=NUMBER --output OUT"
        ),
        header_of_table,
        header("header line {text!q}"),
        fixed="left out the header line",
        drop_in="scores",
        chunked=False,
    ),
    rule(
        "R106",
        "odd-spacing",
        "info",
        "leading, trailing or mixed blanks; form feed or vertical tab is a warning",
        "trec_eval accepts any mix of blanks. Readers that split at a single tab or blank see "
        "empty columns. C treats form feeds and vertical tabs as blanks; other languages may not.",
        "run.txt: info R106: leading, trailing or repeated blanks, or both tabs and spaces. Put "
        "one blank between columns.",
        "Put one blank between columns",
        form_feeds,
        Case(
            "info",
            "leading, trailing or repeated blanks, or both tabs and spaces",
            lambda run: run.file.n_loose or (run.file.has_spaces and run.file.has_tabs),
            given=lambda run, _: run.file.verdict == "rows",
        ),
        fixed="put one blank between columns",
        chunked=False,
    ),
    row_behind_hash("R112", "a row"),
    invisible_character("R114"),
    rule(
        "R108",
        "columns-swapped",
        "error",
        "column 3 is 'Q0', or constant, while column 2 varies",
        "Every tool reads column 3 as the document id: each query then has a single document, "
        "named Q0, many times.",
        "run.txt:1: error R108: columns 2 and 3 look swapped: 'd01' and 'Q0'. Convert it: "
        "trectools-plus runs convert run.txt --columns query=1,doc_id=2,score=5 --output OUT.",
        "Name the columns in the option --columns of 'runs convert'",
        Case(
            "error",
            "columns 2 and 3 look swapped: {q0!q} and {doc_id!q}",
            lambda run: np.arange(run.n_rows if run.documents_in_column_2 else 0),
            column=2,
            remedy="Convert it: {view.conversion} --columns query=1,doc_id=2,score=5 --output OUT",
        ),
        drop_in="permissive",
        blocks_fixing=True,
    ),
    rule(
        "R107",
        "second-column",
        "warning",
        "column 2 is not 'Q0' (once per file)",
        "Evaluators ignore column 2, but submission checkers require 'Q0', and pyserini reads a "
        "run without it as MS MARCO's format.",
        "run.txt:1: warning R107: column 2 is '0', not 'Q0'; TREC checkers reject it and pyserini "
        "reads such a run as MS MARCO. Write Q0 in column 2.",
        "Write Q0 in column 2",
        "column 2 is {q0!q}, not 'Q0'[ (on {count} rows)]; TREC checkers reject it and "
        "pyserini reads such a run as MS MARCO",
        lambda run: run.rows.second.differ_from("Q0"),
        column=2,
        fix=write_q0,
        fixed="wrote Q0 in column 2",
        unless=("R108",),
    ),
    rule(
        "R151",
        "several-tags",
        "warning",
        "more than one tag, or a column of a table that may name several systems",
        "The last column names the run. Two names in one file mean that two runs were joined, or "
        "that a later step wrote only some rows. A column of a table can name the system of each "
        "row.",
        "run.txt:5: warning R151: tag 'other' after 'base'; two runs may have been joined. Keep "
        "one run per file, with one tag.",
        "Keep one run per file, with one tag",
        Case(
            "warning",
            "{view.systems} may name systems, because a query has several of its values",
            lambda run: run.systems is not None,
            remedy="Write a file for each system, or remove the column",
            fixable=False,
        ),
        Case(
            "warning",
            "tag {tag!q} after {view.tag!q}[ (on {count} rows)]; two runs may have been joined",
            lambda run: run.rows.tags.differ_from(run.tag),
            column=6,
        ),
        fix=lambda _, rows: rows.with_columns(rows["tag"].new_from_index(0, rows.height)),
        fixed="wrote one tag",
        ask=True,
    ),
    rule(
        "R152",
        "tag-form",
        "warning",
        "tag outside [A-Za-z0-9_.-]{1,64}; at most 25 characters in the profile submission",
        "The tag becomes a file name, a column heading and a database key. Tracks allow letters, "
        "digits and a few other characters, and at most 12, 15 or 25 of them.",
        "run.txt:1: warning R152: tag 'a+b' is too long, or has characters that tools do not "
        "accept. Use letters, digits, '_', '.', '-', at most 64 characters.",
        "Use letters, digits, '_', '.', '-', at most 64 characters",
        Case(
            "warning",
            "tag {tag!q} is too long, or has characters that tools do not accept[ (on {count} "
            "rows)]",
            bad_tags,
            column=6,
            remedy="Use letters, digits, '_', '.', '-', at most {view.max_tag_length} characters",
        ),
        fix=write_valid_tags,
        fixed="put the tag in form",
        ask=True,
    ),
    rule(
        "R115",
        "fragile-id",
        "info",
        "id like NA, null, nan, 1e5 or 007 that pandas-based readers change",
        "pandas reads NA as a missing value, and 007 or 1e5 as numbers if the whole column looks "
        "numeric; spreadsheets convert single cells. They then write a different id.",
        "run.txt:4: info R115: query id '1' or document id 'NA' is read as missing or as another "
        "number by spreadsheets and pandas-based tools. Read the columns of ids as text in such "
        "tools.",
        "Read the columns of ids as text in such tools",
        fragile(column=1, given=lambda _, places: is_fragile(str(places.query_id))),
        fragile(column=3),
    ),
    rule(
        "R121",
        "scores-reversed",
        "error",
        "rank and score reversed almost completely (Kendall's tau, without ties, at most -0.9) in "
        "at least 90% of the queries of two or more documents, or column 4 has decreasing "
        "decimals and column 5 has 1, 2, 3; a warning if tau is below 0 in most of them",
        "Evaluators sort by score, highest first. Distances (lower is better), or swapped columns "
        "of rank and score, reverse every ranking, and all figures are low.",
        "run.txt:2: error R121: scores rise with rank in 3 of 3 queries; evaluators sort by "
        "score. Negate distances: trectools-plus runs convert run.txt --columns "
        "query=1,doc_id=3,score=-5 --output OUT.",
        "Negate distances with the option --columns of 'runs convert'",
        Case(
            "error",
            "columns 4 and 5 look swapped: decimals, then 1, 2, 3",
            lambda run: np.arange(int(run.swapped_columns)),
            remedy="Convert it: {view.conversion} --columns query={view.named[query_id]},"
            "doc_id={view.named[doc_id]},score={view.named[rank]} --output OUT",
        ),
        Case(
            "error",
            RISING,
            starts_of_rises,
            given=lambda run, places: (
                are_most(run, places) and run.n_reversed >= MIN_REVERSED * run.n_larger
            ),
            remedy="Negate distances: {view.conversion} --columns query={view.named[query_id]},"
            "doc_id={view.named[doc_id]},score=-{view.named[score]} --output OUT",
        ),
        Case(
            "warning",
            RISING,
            starts_of_rises,
            given=are_most,
            remedy="Check that higher scores are better",
            note="figures follow the scores",
        ),
        drop_in="permissive",
        blocks_fixing=True,
    ),
    on_ranks(
        "R120",
        "rank-not-integer",
        "error",
        "rank not an integer, or negative; '1.0' is a warning",
        "trec_eval ignores the rank column; other readers stop at a rank that is not a whole "
        "number. Often the columns are not in the expected order.",
        "run.txt:2: error R120: rank '-' is not a whole number from 0. Number the ranks 1, 2, 3, "
        "… by score.",
        _BY_SCORE,
        Case(
            "error",
            "rank {rank!q} is not a whole number from 0[ (on {count} rows)]",
            lambda run: ~(run.rank >= 0),
            given=is_clear,
            column=4,
        ),
        Case(
            "warning",
            "rank {rank!q} is not written as an integer[ (on {count} rows)]; some readers reject "
            "it",
            lambda run: run.rows.has_point,
            given=is_clear,
            column=4,
        ),
    ),
    on_ranks(
        "R122",
        "duplicate-rank",
        "error",
        "rank twice in a query",
        "Two documents cannot share a rank: two runs were joined, or a counter was not "
        "incremented.",
        "run.txt:2: error R122: rank 1 occurs twice in query 1 (first: line 1). Number the ranks "
        "1, 2, 3, … by score.",
        _BY_SCORE,
        "rank {rank} occurs twice in query {query_id!v} (first: {other_place})[ (on {count} rows)]",
        lambda run: run.ranked.pairs(np.flatnonzero(run.ranked.rank_steps == 0) + 1),
        column=4,
    ),
    on_ranks(
        "R123",
        "rank-start",
        "info",
        "first rank is not 1 (0 is common)",
        "Both 0 and 1 are in use. Evaluators ignore the difference; some submission checkers "
        "require 1.",
        "run.txt:1: info R123: ranks start at 0 in 100 of 100 queries. Nothing to do for "
        "evaluation; some checkers require 1.",
        "Nothing to do for evaluation; some checkers require 1",
        "ranks start at {rank} in {count} of {view.n_queries:query|queries}",
        other_starts,
        given=is_complete,
    ),
    on_ranks(
        "R124",
        "rank-gap",
        "warning",
        "ranks not consecutive",
        "A missing rank means that a row was lost, or removed after ranking.",
        "run.txt:4: warning R124: rank 7 follows 3 in query 1; rows may be missing. Look for the "
        "missing rows, or number the ranks again.",
        "Look for the missing rows, or number the ranks again",
        "rank {rank} follows {other_rank} in query {query_id!v}[ ({count} gaps in all)]; rows "
        "may be missing",
        gaps,
        given=is_complete,
        column=4,
    ),
    on_ranks(
        "R125",
        "rank-score-conflict",
        "warning",
        "document with a better rank has a lower score",
        "Evaluation uses the score, so the evaluated ranking is not the one in the rank column.",
        "run.txt:2: warning R125: rank 2 has score 9.9, but rank 1 has 9.5; evaluation uses the "
        "scores. Number the ranks by score, or write scores that fall with rank.",
        "Number the ranks by score, or write scores that fall with rank",
        "rank {rank} has score {score}, but rank {other_rank} has {other_score}[ ({count} "
        "such pairs in all)]; evaluation uses the scores",
        lambda run: run.ranked.pairs(run.ranked.rises),
        column=5,
        unless=("R121",),
    ),
    rule(
        "R126",
        "row-order",
        "info",
        "rows of a query not in rank order",
        "Evaluators ignore the order of the rows. Tools that use the first rows of a query as its "
        "best results do not.",
        "run.txt:2: info R126: rows are not in rank order. Nothing to do for evaluation; sort by "
        "rank for tools that read from the top.",
        "Nothing to do for evaluation; sort by rank for tools that read from the top",
        "rows are not in rank order[ ({count} places in all)]",
        falling_ranks,
        fix=lambda run, rows: in_order(rows, run.ranked.all_rows),
        fixed="sorted the rows of each query by rank",
    ),
    rule(
        "R127",
        "interleaved-queries",
        "warning",
        "query id returns after another",
        "Two runs were joined, or several workers wrote to one file. Checkers that read row by "
        "row forget a query when the next one begins, so they miss duplicates.",
        "run.txt:4: warning R127: query 1 continues after query 3; streaming checkers miss "
        "duplicates here. Group the rows by query.",
        "Group the rows by query",
        f"{CONTINUES}; streaming checkers miss duplicates here",
        returning_queries,
        fix=group_by_query,
        fixed="grouped the rows by query",
    ),
    rule(
        "R128",
        "query-order",
        "info",
        "query ids not ascending (off unless selected)",
        "Evaluators ignore the order of the queries. Some tracks require ascending ids, and "
        "sorted files can be compared line by line.",
        "run.txt: info R128: query 2 comes after query 3. Sort the queries.",
        "Sort the queries",
        "query {query_id!v} comes after query {before!v}[ ({count} such places in all)]",
        descents,
        optional=True,
        chunked=False,
    ),
    rule(
        "R110",
        "score-not-decimal",
        "error",
        "score is not ASCII [+-]?digits[.digits][e[+-]digits]: hex, '_', ',', '%', letters, "
        "full-width digits",
        "trec_eval reads the longest numeric prefix and gives no warning: '9,5' becomes 9, 'high' "
        "becomes 0. Other readers stop.",
        "run.txt:1: error R110: score '9,5' is not a number; trec_eval reads only its start, "
        "other readers stop. Write scores as decimal numbers with a point, for example 9.5.",
        "Write scores as decimal numbers with a point, for example 9.5",
        "score {score!q} is not a number[ (on {count} rows)]; trec_eval reads only its start, "
        "other readers stop",
        lambda run: rows_where(run, NOT_FINITE, np.flatnonzero(np.isnan(run.score)), matches=False),
        given=is_clear,
        column=5,
        drop_in="permissive",
        blocks_fixing=True,
    ),
    rule(
        "R111",
        "score-not-finite",
        "error",
        "nan, inf, or overflow of float64",
        "NaN is neither higher nor lower than any score, so the position of the document depends "
        "on the tool. All infinite scores tie.",
        "run.txt:5: error R111: score 'NaN' is not a finite number; such documents tie, or may "
        "have any rank. Compute the score again, or remove the row.",
        "Compute the score again, or remove the row",
        "score {score!q} is not a finite number[ (on {count} rows)]; such documents tie, or "
        "may have any rank",
        lambda run: np.sort(
            np.append(
                rows_where(run, NOT_FINITE, np.flatnonzero(np.isnan(run.score))),
                np.flatnonzero(np.isinf(run.score)),
            )
        ),
        column=5,
        tables=True,
    ),
    rule(
        "R113",
        "score-underflow",
        "warning",
        "nonzero text whose value is 0.0",
        "Probabilities of long texts underflow, and all their documents tie at 0.",
        "run.txt:1: warning R113: score 9.5e-400 becomes 0. Write the logarithms of the scores.",
        "Write the logarithms of the scores",
        "score {score!v} becomes 0[ (on {count} rows)]",
        lambda run: rows_where(run, "[^eE]*[1-9]", np.flatnonzero(run.score == 0)),
        column=5,
    ),
    rule(
        "R131",
        "duplicate-document",
        "error",
        "document twice in a query, judged or not",
        "trec_eval stops, ir_measures and ranx keep the last score, and others count the document "
        "twice: a recall of 1.43 has been published.",
        "run.txt:5: error R131: d01 is repeated in query 1 (line 1: score 9.5; here: 0.5). Keep "
        "one row per document, the one with the highest score.",
        "Keep one row per document, the one with the highest score",
        again(given=lambda run, places: run.n_copies == places.count),
        again(given=lambda run, _: run.file.bad_utf8 is None, fixable=False),
        fix=lambda run, rows: rows.filter(~rows["row"].is_in(run.copies)),
        fixed="left out rows that are repeated as they are",
        unless=("R108",),
        tables=True,
    ),
    rule(
        "R161",
        "depth",
        "error",
        "more results for a query than --max-depth (100 by default)",
        "Measures without a cutoff increase with depth, so runs of different depths are not "
        "comparable, and tracks reject runs that are too deep.",
        "run.txt:101: error R161: query 303 has more results than the limit, 100; the deepest has "
        "1,000. If the task allows deeper runs, set --profile trec (1,000 results) or --max-depth.",
        "If the task allows deeper runs, set --profile trec (1,000 results) or --max-depth",
        "query {query_id!v} has more results than the limit, {view.max_depth}[ ({count} "
        "queries)]; the deepest has {view.deepest}",
        rows_beyond_limit,
        blocks_scoring=False,
        tables=True,
    ),
    rule(
        "R141",
        "tied-scores",
        "warning",
        "equal float64 scores whose rank order is not by descending document id; other ties are "
        "an info",
        "Within a tie, trec_eval ranks the highest document id first and ignores the rank column. "
        "Other tools use the lowest id, the order of the rows, or any order.",
        "run.txt:9: warning R141: d08 and d09 tie at 3.0; trec_eval puts d09 first, the rank "
        "column d08. Write scores that fall with rank.",
        _FALLING,
        Case(
            "warning",
            "{other_doc_id!v} and {doc_id!v} tie at {score}; trec_eval puts {doc_id!v} first, the "
            "rank column {other_doc_id!v}[ ({count} such pairs)]",
            ties_against_ranks,
            column=5,
        ),
        Case(
            "info",
            "{count:document} tied with the previous one; tools order them differently",
            lambda run: run.ties64.filter(
                ~run.doc_ids.take(run.ties64.rows).equal(run.doc_ids.take(run.ties64.others))
            ),
        ),
    ),
    rule(
        "R142",
        "all-tied",
        "warning",
        "all scores of a query (2+ documents) equal; error if so in every query",
        "The ranking is then the order of the document ids. This happens when a constant is "
        "written instead of the score, or when tiny scores become 0.",
        "run.txt:1: error R142: every query has a single score (0 in the first); only the rank "
        "column orders the documents. Write scores that fall with rank.",
        _FALLING,
        Case(
            "error",
            "every query has a single score ({score} in the first); only the rank column orders "
            "the documents",
            lambda run: run.blocks.first_rows[run.is_tied_query],
            given=lambda run, places: (
                run.columns is not None and places.count == run.n_larger > run.n_queries / 2
            ),
        ),
        Case(
            "warning",
            "all documents of query {query_id!v} score {score}[ ({count} of {view.n_queries} "
            "queries)]; trec_eval orders them by document id",
            lambda run: run.grouped.rows((run.grouped.heads + 1)[run.is_tied_query]),
        ),
        drop_in="scores",
        tables=True,
    ),
    rule(
        "R143",
        "tie-in-float32",
        "warning",
        "scores that differ as text or in float64 but are equal in float32 (or float64), for "
        "example above 2^24 or 3.4e38",
        "trec_eval 9, pytrec_eval and ir_measures compare scores in 32 bits (about seven digits), "
        "trec_eval 10 and ranx in 64 bits. Such a run has two rankings.",
        "run.txt:9: warning R143: 0.75000001 and 0.75 are equal in float32: trec_eval 9, "
        "pytrec_eval and ir_measures tie them, trec_eval 10 and ranx do not. Write scores that "
        "differ within 7 digits, for example 1000 minus the rank.",
        "Write scores that differ within 7 digits, for example 1000 minus the rank",
        Case(
            "warning",
            "{other_score!v} and {score!v} are equal in float32[ ({count} pairs)]: trec_eval 9, "
            "pytrec_eval and ir_measures tie them, trec_eval 10 and ranx do not",
            ties_of_other_scores,
            column=5,
        ),
        Case(
            "warning",
            "{other_score!v} and {score!v} are equal even in float64; every tool ties them",
            ties_of_other_texts,
            column=5,
        ),
        tables=True,
    ),
)
