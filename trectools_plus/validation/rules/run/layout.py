"""Rules on the layout of a run: number of columns, separators, headers, other formats."""

from __future__ import annotations

import re

from trectools_plus.formats.columns.decimals import DECIMAL, INTEGER
from trectools_plus.formats.columns.rows import RUN_FIELDS
from trectools_plus.text import on, plural, quoted
from trectools_plus.validation.fixes.session import FileDraft, FixSession
from trectools_plus.validation.registry import Hit, RuleFix, fix_step, rule
from trectools_plus.validation.rules.file.hidden import INVISIBLE_BLANKS
from trectools_plus.validation.rules.file.lines import odd_blanks
from trectools_plus.validation.rules.file.shared import (
    ANY,
    add_missing,
    conversion_remedy,
    convertible,
    problem_of_json,
    readable_hit,
    too_few_values,
    too_many_values,
)
from trectools_plus.validation.rules.run.columns import tag_for
from trectools_plus.validation.views.runs import RunView
from trectools_plus.validation.views.tables import TableView, fields_of

LAYOUT = "qid Q0 docid rank score tag"
_COPY_AGAIN = "Copy or write the file again, because its end is missing"


@rule(
    "R101",
    "too-few-columns",
    on="run",
    scope="row",
    severity="error",
    fix=RuleFix("ask", "added the missing column"),
    checks="fewer than 6 fields",
    rationale="trec_eval stops at such a line; other readers skip it or use a wrong column as the "
    "score. A short last line means that writing or copying the file was interrupted.",
    example="run.txt:6: error R101: 5 columns, need 6 (qid Q0 docid rank score tag); the run tag "
    "looks missing. Write all six columns on every line.",
    remedy="Write all six columns on every line",
)
def too_few_columns(run: RunView) -> Hit | None:
    """Rows with fewer fields than a run has."""
    if run.columns is not None and run.columns.origin is not None:
        return too_few_values(run, run.columns.origin)
    short = run.misshapen.filter(run.misshapen.n_fields < RUN_FIELDS)
    short = short.where(lambda text: INVISIBLE_BLANKS.search(text.encode()) is None)
    if not len(short):
        return None
    line, n_fields, text = short.rows()[0]
    same_width = run.n_rows == 0 and len(set(short.n_fields.tolist())) == 1
    found = convertible(run) if same_width else None
    if _is_cut_off(run, line):
        guess, remedy = "; the file ends in the middle of a line", _COPY_AGAIN
    elif found is not None:
        guess, remedy = f"; this looks like {found.label}", conversion_remedy(run)
    else:
        guess, remedy = _missing_column(fields_of(text)), None
    return Hit(
        f"{plural(n_fields, 'column')}, need 6 ({LAYOUT}){guess}{on(len(short), 'line')}",
        short.line.tolist(),
        len(short),
        remedy=remedy,
        # All rows lack the same column; of MS MARCO's ranks, it would make scores.
        fix=None if same_width and guess and (found is None or found.name != "msmarco") else "no",
    )


def _missing_column(fields: list[str]) -> str:
    kinds = [_kind(field) for field in fields]
    if len(fields) == RUN_FIELDS - 1:
        if kinds[3] == "integer" and kinds[4] != "word":
            return "; the run tag looks missing"
        if fields[1].upper() != "Q0" and kinds[2] == "integer" and kinds[3] != "word":
            return "; the second column (Q0) looks missing"
        if fields[1].upper() == "Q0" and kinds[3] != "word":
            return "; the rank looks missing"
    if len(fields) == 3 and kinds[2] != "word":
        return "; these look like query, document and score"
    if len(fields) == 1 and fields[0].count(",") >= 2:
        return "; the row seems to be comma-separated"
    return ""


def _kind(field: str) -> str:
    if re.match(INTEGER, field):
        return "integer"
    return "decimal" if re.match(DECIMAL, field) else "word"


def _is_cut_off(run: RunView, line: int) -> bool:
    """Return whether a short line is the last one of the file, without a newline."""
    if run.columns is None or run.columns.facts.final_newline or not run.columns.n_rows:
        return False
    return line == run.columns.facts.n_lines


@fix_step("R101", order=20)
def add_columns(draft: FileDraft, session: FixSession) -> FileDraft:
    """Add the tag, Q0, or Q0, rank and tag, if every row lacks the same columns (R101)."""
    if not draft.has_only_unparsed_lines(session, "R101"):
        return draft
    found = convertible(draft.view)
    if found is not None and found.name == "msmarco":
        session.skip("R101", "the last column contains ranks; use `runs convert`")
        return draft
    tag = tag_for(session.options.tag, draft.path, session.options.max_tag_length)
    forms = (
        ("{1} {2} {3} {4} {5} " + tag, (ANY, ANY, ANY, INTEGER, DECIMAL), f"added the tag {tag}"),
        ("{1} Q0 {2} {3} {4} {5}", (ANY, ANY, INTEGER, DECIMAL, ANY), "added Q0"),
        ("{1} Q0 {2} 0 {3} " + tag, (ANY, ANY, DECIMAL), f"added Q0, ranks and the tag {tag}"),
    )
    return add_missing(draft, session, "R101", forms, "the rows do not all lack the same column")


@rule(
    "R102",
    "too-many-columns",
    on="run",
    scope="row",
    severity="error",
    fix=RuleFix("ask", "joined the words of the tag with '_'"),
    scored_if="on every such line, column 4 is an integer, column 5 a score and column 6 not a "
    "number: the words after the tag are then ignored",
    checks="more than 6 fields",
    rationale="A blank inside a document id shifts all later columns: trec_eval then reads the "
    "rank as the score and gives no warning. It drops all words after the sixth column, so a tag "
    "of several words is cut.",
    example="run.txt:1: error R102: 7 columns, need 6; the document id 'd01 part2' seems to "
    "contain a space, so trec_eval would read '1' as the score. Remove the blanks inside ids and "
    "tags.",
    remedy="Remove the blanks inside ids and tags",
    drop_in="scores",
)
def too_many_columns(run: RunView) -> Hit | None:
    """Rows with more fields than a run has."""
    if run.columns is not None and run.columns.origin is not None:
        return too_many_values(run, run.columns.origin)
    too_long = run.misshapen.filter(run.misshapen.n_fields > RUN_FIELDS)
    long = too_long + run.words_after_tag
    if not len(long):
        return None
    guess = _blank_inside(fields_of(long.text[0]))
    return Hit(
        f"{plural(int(long.n_fields[0]), 'column')}, need 6{guess}{on(len(long), 'line')}",
        long.line.tolist(),
        len(long),
        fix=None if "run tag" in guess else "no",
        blocks_scoring=len(too_long) > 0,
    )


def _blank_inside(fields: list[str]) -> str:
    kinds = [_kind(field) for field in fields[:8]]
    extra = len(fields) - RUN_FIELDS
    if kinds[3] == "integer" and kinds[4] != "word" and kinds[5] == "word":
        return f"; the run tag {quoted(' '.join(fields[5:9]))} seems to contain a space"
    if len(fields) < 12 and re.match(INTEGER, fields[3 + extra]):
        doc_id = quoted(" ".join(fields[2 : 3 + extra]))
        return (
            f"; the document id {doc_id} seems to contain a space, "
            f"so trec_eval would read {quoted(fields[4])} as the score"
        )
    return ""


_BLANKS = r"[ \t\x0b\x0c]"
_FIELD = r"[^ \t\x0b\x0c]+"
# Five valid columns; everything after them is the tag.
_TAG_OF_WORDS = re.compile(
    rf"(?P<front>(?:{_FIELD}{_BLANKS}+){{3}}{INTEGER[1:-1]}{_BLANKS}+{DECIMAL[1:-1]}{_BLANKS}+)"
    r"(?P<tag>.+)"
)


@fix_step("R102", order=30)
def join_tags(draft: FileDraft, session: FixSession) -> FileDraft:
    """Join the words of the tag in rows that have too many columns only because of it (R102)."""
    lines = draft.view.unparsed_lines
    wide = lines.where(lambda text: len(fields_of(text)) > RUN_FIELDS and text[0] != "#")
    if not len(wide):
        return draft
    fixed = {}
    for line, _, text in wide.rows():
        found = _TAG_OF_WORDS.fullmatch(text.strip(" \t\x0b\x0c"))
        # A "tag" that begins with a number begins with the score; the extra word is before it.
        if found is not None and not re.match(DECIMAL, re.split(_BLANKS, found["tag"])[0]):
            front = re.sub(f"{_BLANKS}+", draft.separator, found["front"])
            fixed[line] = front + re.sub(f"{_BLANKS}+", "_", found["tag"])
    if len(fixed) < len(wide):
        session.skip("R102", "a blank is not in the tag; remove it from the id")
    if not fixed:
        return draft
    session.done("R102", len(fixed))
    return draft.rewritten(draft.fields, fixed=fixed)


@rule(
    "R103",
    "other-format",
    on="run",
    scope="file",
    severity="error",
    fix="no",
    checks="JSON, CSV, quoted fields or HTML in the first 4 KiB",
    rationale="A run has columns separated by blanks. trec_eval reads other formats as broken "
    "rows; quotes become part of the ids, which then match nothing in the qrels.",
    example="run.txt:1: error R103: the format is comma-separated, but a run has six columns "
    "separated by spaces or tabs. Write 'qid Q0 docid rank score tag' on each line.",
    remedy=f"Write '{LAYOUT}' on each line",
    blocks_fixing=True,
    scored_if="it is a dictionary or a list of results in JSON",
)
def other_format(run: RunView) -> Hit | None:
    """The file has another format than columns."""
    if run.shape.verdict == "arranged" and run.shape.header is None:
        return readable_hit(run, "a run has six columns separated by spaces or tabs")
    if run.shape.verdict != "other-format":
        return None
    message = (
        f"the format is {run.shape.format}, but a run has six columns separated by spaces or tabs"
    )
    remedy = conversion_remedy(run) if convertible(run) else None
    problem = None if remedy else problem_of_json(run)
    if problem is not None:
        why, remedy = problem
        message = f"the format is JSON, but not one that is read: {why}"
        remedy = remedy and remedy[:1].upper() + remedy[1:]
    return Hit(
        message,
        [run.shape.first_line or 1],
        remedy=remedy,
    )


@rule(
    "R104",
    "wrong-kind",
    on="run",
    scope="file",
    severity="error",
    fix="no",
    checks="all rows have 4 fields with an integer last: qrels",
    rationale="Runs and qrels are easily swapped, because tools differ in which one they expect "
    "first.",
    example="run.txt:1: error R104: this looks like qrels (4 columns, the last a grade). Check "
    "the order of the arguments; use 'qrels validate' for qrels.",
    remedy="Check the order of the arguments; use 'qrels validate' for qrels",
    blocks_fixing=True,
)
def wrong_kind(run: RunView) -> Hit | None:
    """The file is qrels."""
    if run.shape.verdict != "wrong-kind":
        return None
    return Hit("this looks like qrels (4 columns, the last a grade)", [run.shape.first_line or 1])


@rule(
    "R105",
    "header-line",
    on="run",
    scope="file",
    severity="error",
    fix=RuleFix(
        "safe",
        "left out the header line",
        cannot_apply=TableView.header_stays,
    ),
    checks="first line is not data: its score field is a word, and the next line is a valid row",
    rationale="Runs have no header. trec_eval reads a header as a result with score 0 for a query "
    "that does not exist; stricter readers stop.",
    example="run.txt:1: error R105: header line 'qid Q0 docno rank score tag'. Remove it.",
    remedy="Remove it",
    scored_if="it is the header of a table that every command reads, or no query has the id in "
    "its first column: the line is then skipped",
    drop_in="scores",
)
def header_line(run: RunView) -> Hit | None:
    """The first line names the columns."""
    if run.shape.header is None:
        return None
    if run.is_arranged:
        return readable_hit(run, "")
    line, text = run.shape.header
    blocks = run.header_may_be_data
    return Hit(f"header line {quoted(text.strip())}", [line], blocks_scoring=blocks)


@rule(
    "R106",
    "odd-spacing",
    on="run",
    scope="file",
    severity="info",
    fix=RuleFix("safe", "put one blank between columns"),
    checks="leading, trailing or mixed blanks; form feed or vertical tab is a warning",
    rationale="trec_eval accepts any mix of blanks. Readers that split at a single tab or blank "
    "see empty columns. C treats form feeds and vertical tabs as blanks; other languages may not.",
    example="run.txt: info R106: mixed tabs and spaces. Put one blank between columns.",
    remedy="Put one blank between columns",
)
def odd_spacing(run: RunView) -> Hit | None:
    """Columns are not all separated by the same single blank."""
    if run.columns is None or run.shape.verdict != "rows":
        return None
    hit, facts, seen = odd_blanks(run), run.columns.facts, []
    if hit is not None:
        return hit
    if facts.spaced_rows and facts.tabbed_rows:
        seen.append("mixed tabs and spaces")
    if facts.loose_rows:
        n_lines = len(facts.loose_rows.lines)
        seen.append(f"leading, trailing or repeated blanks on {n_lines:,} lines")
    if not seen:
        return None
    return Hit("; ".join(seen), count=max(1, len(facts.loose_rows.lines)))
