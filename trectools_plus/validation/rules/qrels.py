"""Rules on the columns and grades of qrels."""

from __future__ import annotations

import re
from functools import partial
from itertools import compress

import numpy as np

from trectools_plus.choices import RELEVANT
from trectools_plus.formats.columns.decimals import DECIMAL, INTEGER
from trectools_plus.formats.columns.ids import Flags, Rows
from trectools_plus.text import listed
from trectools_plus.validation.registry import Case, SeverityName, rule
from trectools_plus.validation.rules.files import (
    CONTINUES,
    at_start,
    few_values,
    form_feeds,
    group_by_query,
    header,
    header_of_table,
    header_with_repeats,
    invisible_character,
    long_rows,
    other_form,
    returning_queries,
    row_behind_hash,
    without_header,
)
from trectools_plus.validation.views.kinds import QrelsView
from trectools_plus.validation.views.places import NO_ROWS, Pairs, Places

HIGHEST_SCORED = 10**8
"""The highest grade that is scored: trec_eval uses a counter per grade, here 0.8 GB in total."""

INT32 = 2**31 - 1

note_header = partial(header, note="it is skipped")


def has_grades_in_column_2(qrels: QrelsView) -> bool:
    """Return whether all grades are 0, and column 2 contains several small whole numbers."""
    if qrels.columns is None or (qrels.grade != 0).any() or qrels.documents_in_column_2:
        return False
    iterations = qrels.rows.iterations
    distinct = iterations.texts(iterations.numbered()[1])
    return len(distinct) > 1 and all(re.match(r"^-?[0-9]{1,3}$", text) for text in distinct)


def not_integers(qrels: QrelsView, pattern: str, *, matches: bool) -> Rows:
    """Return rows whose grade is not written as an integer, and matches a pattern or does not."""
    if qrels.columns is None or qrels.grades_are_integers:
        return NO_ROWS
    rows = np.flatnonzero(np.isnan(qrels.rows.grades) | qrels.rows.has_point)
    flags = [
        not re.match(INTEGER, text) and bool(re.match(pattern, text)) == matches
        for text in qrels.texts(4, rows)
    ]
    return rows[np.array(flags, np.bool_)]


def fractions(qrels: QrelsView) -> Pairs:
    """Return all decimal grades, each with the first one that is not whole."""
    rows = not_integers(qrels, DECIMAL, matches=True)
    others = rows[~qrels.rows.has_point[rows]][:1]
    return Pairs(rows, np.broadcast_to(others, len(rows)) if len(others) else rows)


fraction = partial(Case, "error", where=fractions, column=4)


on_grades = partial(rule, tables=True)


def rows_above(qrels: QrelsView, limit: int) -> Flags:
    """Flag rows whose grade is higher, or far lower, than a limit."""
    # trec_eval stores grades in 32 bits, so very low grades overflow like high ones.
    grade = np.where(np.abs(qrels.grade) > INT32, np.abs(qrels.grade), qrels.grade)
    return grade > limit


def _above(limit: int, severity: SeverityName, why: str) -> Case:
    where = partial(rows_above, limit=limit)
    message = f"grade {{relevance!v}}[ (on {{count}} rows)]; {why}"
    blocks = limit >= HIGHEST_SCORED
    note = "it is scored as it is" if severity == "error" else ""
    return Case(severity, message, where, column=4, blocks=blocks, note=note)


def first_rows(qrels: QrelsView, flags: Flags) -> Places:
    """Return the first rows of some queries."""
    ids = list(compress(qrels.query_ids, flags))
    if not ids:
        return Places()
    return Places(
        len(ids),
        qrels.lines_of_queries(ids),
        query_id=ids[0],
        first={"query": ids[0], "ids": listed(ids)},
    )


def is_nothing_relevant(qrels: QrelsView) -> bool:
    """Return whether all grades are numbers, and none is that of a relevant document."""
    return qrels.n_rows > 0 and bool((qrels.grade < RELEVANT).all())


only_negative = partial(Case, note="it is scored as a query without a relevant document")


def repeats(qrels: QrelsView, *, agree: bool) -> Pairs:
    """Return repeated judgments whose grades are equal, or those whose grades differ."""
    again = qrels.repeats.filter(~of_other_subtopic(qrels))
    here, there = qrels.grade[again.rows], qrels.grade[again.others]
    # Q143 reports the type of judgment.
    is_clear = ~(np.isnan(here) | np.isnan(there)) & (qrels.systems is None)
    return again.filter(is_clear & ((here == there) == agree))


def of_other_subtopic(qrels: QrelsView) -> Flags:
    """Return, for each of the repeats, whether its column 2 differs from that of the first."""
    subtopics, again = qrels.rows.iterations, qrels.repeats
    return ~subtopics.take(again.rows).equal(subtopics.take(again.others))


RULES = (
    rule(
        "Q101",
        "too-few-columns",
        "error",
        "fewer than 4 fields",
        "Without all four columns, a reader takes the document id for the grade, or stops.",
        "qrels.txt:3: error Q101: 3 columns, need query_id iteration doc_id relevance. Write all "
        "columns on every line, or name those of another layout: trectools-plus qrels convert "
        "qrels.txt --columns query=COLUMN,doc_id=COLUMN,relevance=COLUMN --output OUT.",
        "Write all four columns on every line",
        few_values(
            remedy="Write all columns on every line, or name those of another layout: "
            "{view.conversion} --columns query=COLUMN,doc_id=COLUMN,relevance=COLUMN --output OUT"
        ),
        without_header,
        other_form,
        blocks_fixing=True,
    ),
    rule(
        "Q102",
        "too-many-columns",
        "error",
        "more than 4 fields; recognises prels with 5 columns",
        "trec_eval stops at such a line; others read part of the document id as the grade.",
        "qrels.txt:1: error Q102: 5 columns; the document id may contain a space or "
        "separator. Write four columns on every line, or convert it: trectools-plus qrels convert "
        "qrels.txt --columns query=COLUMN,doc_id=COLUMN,relevance=COLUMN --output OUT.",
        "Write four columns on every line",
        Case(
            "error",
            "{n_fields:column}; the document id may contain a space or separator[ (on {count} "
            "lines)]",
            long_rows,
            remedy="Write four columns on every line, or convert it: {view.conversion} --columns "
            "query=COLUMN,doc_id=COLUMN,relevance=COLUMN --output OUT",
        ),
        blocks_fixing=True,
    ),
    rule(
        "Q103",
        "header-line",
        "error",
        "header line, or BEIR's TSV with three columns",
        "Qrels have no header: trec_eval stops at it or counts one more query. BEIR's files have "
        "a header and only three columns.",
        "qrels.txt:1: error Q103: TSV with the header 'query-id corpus-id score', three columns, "
        "not in TREC form. Every trectools-plus command reads it; for other tools: trectools-plus "
        "qrels convert qrels.txt --output OUT.",
        "Remove it",
        header_with_repeats(
            remedy="Give the numbers of the columns: {view.conversion} --columns "
            "query=NUMBER,doc_id=NUMBER,relevance=NUMBER --output OUT"
        ),
        header_of_table,
        note_header(
            "header line {text!q}; trec_eval counts it as a judgment",
            given=lambda qrels, _: qrels.file.header_in_rows,
        ),
        note_header("header line {text!q}; trec_eval stops at it", drop_in="refuses"),
        fixed="left out the header line",
        drop_in="scores",
    ),
    rule(
        "Q104",
        "wrong-kind",
        "error",
        "6 fields, second Q0 or 0: a run",
        "Runs and qrels are easily swapped, because tools differ in which one they expect first.",
        "qrels.txt:1: error Q104: this is a run (6 columns). Check the order of the arguments; "
        "use 'runs validate' for runs.",
        "Check the order of the arguments; use 'runs validate' for runs",
        "this is a run (6 columns)",
        at_start(lambda qrels: qrels.file.verdict == "wrong-kind"),
        blocks_fixing=True,
    ),
    rule(
        "Q106",
        "odd-spacing",
        "warning",
        "form feed or vertical tab between columns",
        "trec_eval accepts any ASCII blank between columns. Readers that split only at blanks and "
        "tabs see one column fewer.",
        "qrels.txt:2: warning Q106: form feed or vertical tab between columns; not every reader "
        "splits there. Put one blank between columns.",
        "Put one blank between columns",
        form_feeds,
        fixed="put one blank between columns",
    ),
    row_behind_hash("Q112", "a judgment"),
    invisible_character("Q114"),
    rule(
        "Q108",
        "columns-swapped",
        "error",
        "column 3 has a single value, and column 2 contains the ids",
        "Evaluators ignore column 2. If the document ids are there, one document is judged "
        "repeatedly, and no document of a run is judged.",
        "qrels.txt:1: error Q108: columns 2 and 3 look swapped; column 3 is always '0'. Convert "
        "it: trectools-plus qrels convert qrels.txt --columns query=1,doc_id=2,relevance=4 "
        "--output OUT.",
        "Name the columns in the option --columns of 'trectools-plus qrels convert'",
        Case(
            "error",
            "columns 2 and 3 look swapped; column 3 is always {doc_id!q}",
            lambda qrels: (
                Places(qrels.n_rows, qrels.lines([0]), first=qrels.fields_of(0))
                if qrels.documents_in_column_2
                else 0
            ),
            remedy="Convert it: {view.conversion} --columns query={view.named[query_id]},"
            "doc_id={view.named[iteration]},relevance={view.named[relevance]} --output OUT; or, if "
            "it is a file of SMART with '0 0' on every line, without --columns: {view.conversion} "
            "--output OUT",
        ),
    ),
    rule(
        "Q135",
        "grade-in-column-2",
        "error",
        "column 4 is always 0, and column 2 varies",
        "Evaluators ignore column 2. If the grades are there, nothing is relevant and every score "
        "is 0.",
        "qrels.txt:1: error Q135: grades seem to be in column 2; column 4 is always 0. Convert "
        "it: trectools-plus qrels convert qrels.txt --columns query=1,doc_id=3,relevance=2 "
        "--output OUT.",
        "Name the columns in the option --columns of 'trectools-plus qrels convert'",
        Case(
            "error",
            "grades seem to be in column 2; column 4 is always 0",
            lambda qrels: Places(
                int(has_grades_in_column_2(qrels)), qrels.lines(range(qrels.n_rows)[:1])
            ),
            remedy="Convert it: {view.conversion} --columns query={view.named[query_id]},"
            "doc_id={view.named[doc_id]},relevance={view.named[iteration]} --output OUT",
        ),
        drop_in="scores",
    ),
    rule(
        "Q151",
        "interleaved",
        "info",
        "query id returns after another",
        "Readers that work row by row treat the second block as a new query.",
        "qrels.txt:4: info Q151: query 1 continues after query 3. Group the rows by query.",
        "Group the rows by query",
        CONTINUES,
        returning_queries,
        fix=group_by_query,
        fixed="grouped the rows by query",
    ),
    rule(
        "Q110",
        "grade-not-integer",
        "error",
        "grade is not ASCII [+-]?digits",
        "trec_eval reads the longest numeric prefix and gives no warning: 'relevant' becomes 0, "
        "'0x2' becomes 0, '2,0' becomes 2.",
        "qrels.txt:1: error Q110: grade 'relevant' is not a whole number; trec_eval reads its "
        "start. Write whole numbers.",
        "Write whole numbers",
        "grade {relevance!q} is not a whole number[ (on {count} rows)]; trec_eval reads its start",
        partial(not_integers, pattern=DECIMAL, matches=False),
        column=4,
        drop_in="scores",
    ),
    rule(
        "Q111",
        "fractional-grade",
        "error",
        "decimal grade; grades like '2.0' can be fixed",
        "Grades are whole numbers; trec_eval ignores the fraction. '2.0' can be fixed; '0.5' "
        "needs another scale.",
        "qrels.txt:1: error Q111: grade 0.9 is not a whole number; trec_eval ignores the "
        "fraction. Rescale the grades to whole numbers.",
        "Rescale the grades to whole numbers",
        fraction(
            "grade {relevance} is not written as an integer[ (on {count} rows)]; trec_eval ignores "
            "the point",
            given=lambda qrels, places: qrels.rows.has_point.sum() == places.count,
            remedy="Write whole numbers without a point",
            blocks=False,
        ),
        fraction(
            "grade {other_relevance} is not a whole number[ (on {count} rows)]; trec_eval ignores "
            "the fraction",
            fixable=False,
        ),
        fix=lambda _, rows: rows.with_columns(
            rows["relevance"].str.replace(r"^([+-]?[0-9]+)\.0*$", "$1")
        ),
        fixed="wrote whole grades without a point",
        drop_in="scores",
    ),
    on_grades(
        "Q121",
        "negative-grade",
        "warning",
        "grade below 0 (once per file, with counts)",
        "Negative grades mark spam or unjudged documents. They count as not relevant. Some "
        "measures treat -1 as unjudged and lower grades as judged.",
        "qrels.txt:2: warning Q121: 1 row with a grade below 0, the first -1; they count as not "
        "relevant, and trec_eval -J drops them. Nothing to do if this is intended.",
        "Nothing to do if this is intended",
        "{count:row} with a grade below 0, the first {relevance}; they count as not relevant, and "
        "trec_eval -J drops them",
        lambda qrels: qrels.grade < 0,
        column=4,
    ),
    on_grades(
        "Q122",
        "grade-range",
        "error",
        "grade over 127 (error), over 10 (warning) or over 4 (info)",
        "Such a grade is usually a score or a time. trec_eval uses 8 bytes for each grade up to "
        "the highest one, 8 GB at 10^9, and each query takes time in proportion; its ndcg takes "
        "the square of it, an hour at 10^6. Exponential gain overflows much earlier.",
        "qrels.txt:1: error Q122: grade 1000000000; trec_eval needs 8 bytes for each grade up to "
        "it. Rescale the grades to 0 to 4.",
        "Rescale the grades to 0 to 4",
        _above(HIGHEST_SCORED, "error", "trec_eval needs 8 bytes for each grade up to it"),
        _above(127, "error", "it outweighs all others, and trec_eval's memory grows with it"),
        _above(10, "warning", "exponential gain is 2^grade, so it outweighs all others"),
        _above(4, "info", "gdeval and ERR stop above 4"),
    ),
    on_grades(
        "Q131",
        "no-relevant",
        "warning",
        "query without a relevant document (one finding, with the ids)",
        "A query without a relevant document scores 0 for every system, so it lowers the means. C "
        "trec_eval, pytrec_eval, ir_measures and ranx count it, and so does this package.",
        "qrels.txt:8: warning Q131: 1 of 3 queries without a relevant document: 3. They count as "
        "zero in the means; judge more documents, or leave them out with --no-relevant drop.",
        "They count as zero in the means; judge more documents, or leave them out with "
        "--no-relevant drop",
        "{count} of {view.n_queries:query|queries} without a relevant document: {ids}",
        lambda qrels: first_rows(qrels, qrels.highest < RELEVANT),
        given=lambda qrels, _: not is_nothing_relevant(qrels),
    ),
    on_grades(
        "Q132",
        "only-negative",
        "error",
        "highest grade of a query is -1 (warning) or lower (error)",
        "trec_eval and pytrec_eval size a table by the highest grade: below -1 they write outside "
        "of it and crash; at -1 they may use the table of the previous query.",
        "qrels.txt:8: error Q132: query 3 has only grades below -1; trec_eval and pytrec_eval "
        "crash (segmentation fault). Remove the query, or write 0 for not relevant.",
        "Remove the query, or write 0 for not relevant",
        only_negative(
            "error",
            "query {query!v} has only grades below -1[ ({count} such queries)]; trec_eval and "
            "pytrec_eval crash (segmentation fault)",
            lambda qrels: first_rows(qrels, qrels.highest < -1),
        ),
        only_negative(
            "warning",
            "query {query!v} has only grades below 0[ ({count} such queries)]; trec_eval may "
            "score it with the grades of the previous query",
            lambda qrels: first_rows(qrels, qrels.highest < 0),
        ),
        blocks_scoring=False,
    ),
    on_grades(
        "Q133",
        "nothing-relevant",
        "error",
        "no query has a relevant document",
        "Every system scores 0. The grades are in another column, or the file is the wrong one.",
        "qrels.txt: error Q133: no grade above 0 in 9 rows. Check that this is the right file and "
        "that column 4 is the grade.",
        "Check that this is the right file and that column 4 is the grade",
        "no grade above 0 in {count:row}",
        lambda qrels: qrels.n_rows,
        given=lambda qrels, _: is_nothing_relevant(qrels),
        note="every query scores 0",
        blocks_scoring=False,
        unless=("Q135",),
    ),
    on_grades(
        "Q134",
        "only-relevant",
        "info",
        "no document is judged not relevant, so bpref and Judged@k have no meaning",
        "If only relevant documents are listed, unjudged documents cannot be distinguished from "
        "documents that were judged not relevant.",
        "qrels.txt: info Q134: no non-relevant judgments; bpref and Judged@k have no meaning. "
        "Nothing to do for other measures.",
        "Nothing to do for other measures",
        "no non-relevant judgments; bpref and Judged@k have no meaning",
        lambda qrels: qrels.n_rows > 0 and bool((qrels.grade >= RELEVANT).all()),
    ),
    on_grades(
        "Q141",
        "duplicate-agrees",
        "warning",
        "document judged twice for a query, with the same grade",
        "trec_eval stops at a repeated judgment, even if the grades agree.",
        "qrels.txt:2: warning Q141: d01 is judged again for query 1 with grade 2. Remove the "
        "repeated row.",
        "Remove the repeated row",
        "{doc_id!v} is judged again for query {query_id!v} with grade {relevance}[ ({count} such "
        "rows)]",
        partial(repeats, agree=True),
        column=3,
        note="it counts once, but C trec_eval stops",
        fix=lambda qrels, rows: rows.filter(~rows["row"].is_in(repeats(qrels, agree=True).rows)),
        fixed="left out repeated judgments",
    ),
    on_grades(
        "Q142",
        "duplicate-conflicts",
        "error",
        "document judged twice for a query, with different grades",
        "trec_eval stops, ir_measures and ranx keep the last grade, others the first, so one file "
        "gives several results.",
        "qrels.txt:10: error Q142: d01 has grade 0 here but 2 on line 1, in query 1. Keep one "
        "grade for each document of a query.",
        "Keep one grade for each document of a query",
        "{doc_id!v} has grade {relevance} here but {other_relevance} on {other_place}, in query "
        "{query_id!v}[ ({count} such rows)]",
        partial(repeats, agree=False),
        column=4,
    ),
    on_grades(
        "Q143",
        "looks-diversity",
        "error",
        "document judged twice for a query, with different values in column 2 (subtopics), or in "
        "a further column of a table (types of judgment)",
        "In qrels for diversity, column 2 is the subtopic, and a document is judged once for "
        "each. Measures of relevance ignore column 2 and use any one of the grades.",
        "qrels.txt:2: error Q143: column 2 contains subtopics: d01 is judged for 1 and 2 in query "
        "7. Keep the rows of one subtopic.",
        "Keep the rows of one subtopic or type of judgment",
        Case(
            "error",
            "{view.systems} distinguishes several judgments of a document for a query, for example "
            "types of judgment",
            lambda qrels: qrels.systems is not None,
        ),
        Case(
            "error",
            "column 2 contains subtopics: {doc_id!v} is judged for {other_iteration!v} and "
            "{iteration!v} in query {query_id!v}[ ({count} such rows)]",
            lambda qrels: qrels.repeats.filter(of_other_subtopic(qrels)),
            column=3,
        ),
    ),
)
