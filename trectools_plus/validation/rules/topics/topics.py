"""Rules on topics and test sets: their lines, syntax, fields, ids and texts, and fixes of TSV."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from trectools_plus.formats.topic_records.lines import with_tab
from trectools_plus.formats.topic_records.schema import is_header
from trectools_plus.formats.writing import UNWRITABLE, UNWRITABLE_STARTS
from trectools_plus.text import in_all, number, on, plural, quoted, visible
from trectools_plus.validation.fixes.session import FixSession, TopicsDraft
from trectools_plus.validation.registry import Hit, RuleFix, fix_step, rule
from trectools_plus.validation.views.topics import TopicsView

Row = Mapping[str, Any]
"""The first row of a table."""
_QUOTED = ("text", "other_text", "span")
"""Columns whose values are quoted in messages."""


def where(
    rows: Callable[[Any], pl.DataFrame],
    message: str,
    noun: str,
    *,
    line: str = "line",
    further: Callable[[Any, Row], dict[str, Any]] | None = None,
) -> Callable[[Any], Hit | None]:
    """Return a check that reports the rows of a table.

    Args:
        rows: Returns the rows that break the rule; the first is reported.
        message: A template with names of columns in braces.
        noun: The name of one row, for the number of rows.
        line: The column with the line of a row.
        further: Returns further attributes of the :class:`Hit`.
    """

    def check(view: Any) -> Hit | None:
        """Report the rows."""
        found = rows(view)
        if found.is_empty():
            return None
        first = found.row(0, named=True)
        shown = {name: _shown(name, value) for name, value in first.items()}
        return Hit(
            message.format_map(shown) + in_all(found.height, noun),
            found[line].to_list(),
            found.height,
            query_id=first.get("query_id"),
            doc_id=first.get("doc_id"),
            **(further(view, first) if further else {}),
        )

    return check


def _shown(name: str, value: object) -> object:
    if isinstance(value, str):
        return quoted(value) if name in _QUOTED else visible(value)
    return number(value) if isinstance(value, float) else "" if value is None else value


def recorded(code: str, noun: str = "line") -> Callable[[TopicsView], Hit | None]:
    """Return a check that reports the problems that the reader of the file has recorded.

    Args:
        code: The code of the rule.
        noun: The name of one place in the message.
    """

    def check(topics: TopicsView) -> Hit | None:
        """Report the recorded problems of the rule."""
        return recorded_hit(topics, code, noun)

    return check


def recorded_hit(view: TopicsView, code: str, noun: str) -> Hit | None:
    """Return a hit for the recorded problems of a rule that have the worst severity."""
    found = view.problems.worst(code)
    if found is None:
        return None
    first, lines, n_unfixable = found
    n_fixable = len(lines) - n_unfixable
    fixable = f"; --fix fixes {n_fixable:,} of them" if 0 < n_fixable < len(lines) else ""
    return Hit(
        first.message + on(len(lines), noun) + fixable,
        lines,
        len(lines),
        first.column,
        first.query_id,
        first.doc_id,
        first.severity,
        first.remedy,
        fix=first.fix,
        blocks_scoring=first.blocks_scoring,
    )


separator = rule(
    "T101",
    "separator",
    on="topics",
    scope="row",
    severity="error",
    fix=RuleFix("ask", "wrote a tab behind the first word"),
    checks="TSV row without a tab",
    rationale="A reader that splits at the tab uses the whole line as the id, or stops. If blanks "
    "separate id and text, only the owner of the file knows whether ids contain blanks; the fix "
    "writes a tab for the first blanks.",
    example="topics.tsv:1: error T101: no tab between id and text in '1 first query'. Write id, "
    "tab, text on each line.",
    remedy="Write id, tab, text on each line",
)(recorded("T101"))


@fix_step("T101", order=20, phase="tsv")
def write_tabs(draft: TopicsDraft, session: FixSession) -> TopicsDraft:
    """Write a tab for the first blanks of lines without one (T101)."""
    lines = [line if "\t" in line else with_tab(line) or line for line in draft.lines]
    n_without = sum("\t" not in line for line in lines)
    if n_without:
        why = f"{plural(n_without, 'line')} without an id and a blank before the text"
        session.skip("T101", why)
    return draft.write(session, "T101", lines)


extra_tab = rule(
    "T102",
    "extra-tab",
    on="topics",
    scope="row",
    severity="warning",
    fix=RuleFix("safe", "wrote a blank for a tab in the text"),
    checks="second tab in a TSV row",
    rationale="Readers with a fixed number of columns stop, or cut the text at the second tab.",
    example="topics.tsv:2: warning T102: tab inside the text, read as a blank. Replace it with a "
    "blank.",
    remedy="Replace it with a blank",
)(recorded("T102"))


@fix_step("T102", order=40, phase="tsv")
def replace_tabs(draft: TopicsDraft, session: FixSession) -> TopicsDraft:
    """Write a blank for each tab in a text (T102)."""
    lines = [query_id + tab + text.replace("\t", " ") for query_id, tab, text in draft.rows]
    return draft.write(session, "T102", lines)


header_line = rule(
    "T103",
    "header-line",
    on="topics",
    scope="file",
    severity="error",
    blocks_scoring=False,
    fix=RuleFix("safe", "left out the header line"),
    checks="first row names columns",
    rationale="Topics in TREC form have no header. Other tools take it for a query 'qid' with the "
    "text 'text', which is then in every run but not in the qrels. trectools-plus skips it.",
    example="topics.tsv:1: error T103: header line 'qid text'. trectools-plus skips it; "
    "remove it for other tools.",
    remedy="trectools-plus skips it; remove it for other tools",
)(recorded("T103"))


@fix_step("T103", order=30, phase="tsv")
def remove_header(draft: TopicsDraft, session: FixSession) -> TopicsDraft:
    """Remove a first line with the names of the columns (T103)."""
    first = next(iter(draft.rows), ("", "", ""))
    is_named = is_header(first[0], first[2]) and first[1] == "\t"
    return draft.drop(session, "T103", {0} if is_named else ())


syntax = rule(
    "T104",
    "syntax",
    on="topics",
    scope="file",
    severity="error",
    fix="no",
    checks="YAML, JSON or XML that cannot be parsed, NaN in JSON, tab used to indent YAML",
    rationale="A parser stops here, or reads other values than the author wrote. Python writes NaN "
    "into JSON; parsers in other languages reject it.",
    example="set.yaml:2: error T104: tab used to indent. Correct the line; nothing after it could "
    "be checked.",
    remedy="Correct the line; nothing after it could be checked",
)(recorded("T104", "place"))


missing_field = rule(
    "T105",
    "missing-field",
    on="topics",
    scope="row",
    severity="error",
    fix="no",
    checks="id or text missing or null",
    rationale="A query without an id cannot be matched with its results, and a query without text "
    "cannot be searched. Some programs read null as the id 'None'.",
    example="set.yaml:2: error T105: id is null. Give every topic an id and a text.",
    remedy="Give every topic an id and a text",
)(recorded("T105", "place"))


unknown_field = rule(
    "T106",
    "unknown-field",
    on="topics",
    scope="row",
    severity="error",
    fix="no",
    checks="key not in the schema; the most similar key is suggested",
    rationale="A misspelled key is ignored without a warning: 'relevent' makes a test case "
    "without judgments.",
    example="set.yaml:4: error T106: unknown key 'relevent'; did you mean 'relevant'? Rename it.",
    remedy="Rename it",
)(recorded("T106", "place"))


MAX_WORDS = 1000
"""Highest number of words in a query."""


def _repeated(topics: TopicsView, *, same: bool) -> pl.DataFrame:
    """Return topics whose id occurred before, with the same text or another one."""
    frame = topics.frame.filter(pl.col("query_id").is_not_null())
    firsts = pl.col("line", "text").first().over("query_id").name.prefix("first_")
    again = frame.with_columns(firsts).filter(pl.col("query_id").is_first_distinct().not_())
    return again.filter(pl.col("text").eq_missing(pl.col("first_text")) == same)


duplicate_id_same = rule(
    "T111",
    "duplicate-id-same",
    on="topics",
    scope="file",
    severity="warning",
    fix=RuleFix("safe", "left out repeated topics"),
    checks="id twice, with the same text",
    rationale="Readers stop at the second one, or search it twice and write every result twice. "
    "Only repeats in TSV can be fixed: in YAML and JSON they may have other fields.",
    example="topics.tsv:4: warning T111: topic 2 is repeated (first on line 2). Remove the "
    "repeated topic.",
    remedy="Remove the repeated topic",
)(
    where(
        lambda topics: _repeated(topics, same=True),
        "topic {query_id} is repeated (first on line {first_line})",
        "such topic",
        further=lambda topics, _: {"fix": None if topics.form == "tsv" else "no"},
    )
)


@fix_step("T111", order=60, phase="tsv")
def remove_repeats(draft: TopicsDraft, session: FixSession) -> TopicsDraft:
    """Remove lines with the id and the text of an earlier one (T111)."""
    texts: dict[str, str] = {}
    repeats = set()
    for at, (query_id, tab, text) in enumerate(draft.rows):
        if not tab:
            continue
        stripped = text.strip(" ")
        if texts.get(query_id) == stripped:
            repeats.add(at)
        texts.setdefault(query_id, stripped)
    return draft.drop(session, "T111", repeats)


duplicate_id_other = rule(
    "T112",
    "duplicate-id-other",
    on="topics",
    scope="file",
    severity="error",
    fix="no",
    checks="id twice, with different texts",
    rationale="Two queries have one id: their results are mixed and scored with the same "
    "judgments.",
    example="topics.tsv:4: error T112: topic 2 has another text on line 2. Give each query its "
    "own id.",
    remedy="Give each query its own id",
)(
    where(
        lambda topics: _repeated(topics, same=False),
        "topic {query_id} has another text on line {first_line}",
        "such topic",
    )
)


def _unwritable(topics: TopicsView) -> pl.DataFrame:
    """Return the ids that cannot be written to a run or to qrels: ``line, id, what``."""
    starts = pl.any_horizontal(
        pl.col("query_id").str.starts_with(start) for start in UNWRITABLE_STARTS
    )
    ids = topics.frame.filter(pl.col("query_id").str.contains(UNWRITABLE) | starts)
    parts = [ids.select("line", "query_id", id="query_id", doc_id=None, what=pl.lit("id"))]
    if topics.judgments is not None:
        judged = topics.judgments.frame.select(
            "doc_id", line=pl.Series(topics.judgments.line_numbers, dtype=pl.UInt32)
        ).filter(pl.col("doc_id").str.contains(UNWRITABLE))
        what = pl.lit("document id")
        parts.append(judged.select("line", id="doc_id", doc_id="doc_id", what=what))
    found = pl.concat(parts, how="diagonal_relaxed").sort("line", maintain_order=True)
    problem = pl.col("id").map_elements(_describe_problem, return_dtype=pl.String)
    return found.with_columns(problem=problem, text="id")


space_in_id = rule(
    "T113",
    "space-in-id",
    on="topics",
    scope="row",
    severity="error",
    fix=RuleFix("ask", "wrote '_' for blanks in ids"),
    checks="white space or control character in a query or document id, or '#' at the start of a "
    "query id",
    rationale="Blanks separate the columns of runs and qrels, so an id with a blank cannot be "
    "written there, and a line that starts with '#' is a comment. Only TSV can be fixed, because a "
    "test set may contain the id in other places too.",
    example="topics.tsv:2: error T113: space in id 'q 2'. Replace it with an underscore.",
    remedy="Replace it with an underscore",
)(
    where(
        _unwritable,
        "{problem} {what} {text}",
        "such id",
        further=lambda topics, first: {
            "remedy": _remedy(first["id"]),
            "fix": None
            if topics.form == "tsv" and not first["id"].startswith(UNWRITABLE_STARTS)
            else "no",
        },
    )
)


@fix_step("T113", order=50, phase="tsv")
def format_ids(draft: TopicsDraft, session: FixSession) -> TopicsDraft:
    """Strip ids, and write ``_`` for their inner white space (T113)."""
    lines = [
        (_without_blanks(query_id) or query_id if tab else query_id) + tab + text
        for query_id, tab, text in draft.rows
    ]
    return draft.write(session, "T113", lines)


def _without_blanks(query_id: str) -> str:
    return re.sub(r"\s+", "_", query_id.strip(" "))


def _remedy(text: str) -> str | None:
    if text != text.strip(" "):
        return "Remove the blanks around it"
    return None if " " in text else "Write an id without it"


def _describe_problem(text: str) -> str:
    if text.startswith("#"):
        return "'#', which begins a comment in runs, at the start of"
    if " " in text:
        return "space in"
    if any(character.isspace() for character in text):
        return "white space in"
    return "byte order mark in" if text.startswith("\ufeff") else "control character in"


empty_text = rule(
    "T121",
    "empty-text",
    on="topics",
    scope="row",
    severity="error",
    fix="no",
    checks="empty query text",
    rationale="For an empty query, search engines return nothing, everything or an error.",
    example="topics.tsv:2: error T121: topic 2 has no text. Write a text, or remove the topic.",
    remedy="Write a text, or remove the topic",
)(recorded("T121", "topic"))


def normalised(texts: pl.Series) -> pl.Series:
    """Return texts case-folded and NFKC-normalised, without extra white space and final marks."""
    if texts.str.len_bytes().sum() != texts.str.len_chars().sum():
        texts = texts.map_elements(
            lambda text: unicodedata.normalize("NFKC", text).casefold(), return_dtype=pl.String
        )
    return (
        texts.str.to_lowercase()
        .str.replace_all(r"\s+", " ")
        .str.strip_chars(" ")
        .str.replace(r"[\s?.!]+$", "")
    )


def _same_texts(topics: TopicsView) -> pl.DataFrame:
    """Return topics with the text of an earlier one with another id."""
    frame = topics.frame.drop_nulls(["query_id", "text"])
    frame = frame.with_columns(norm=normalised(frame["text"])).filter(pl.col("norm") != "")
    first_id = pl.col("query_id").first().over("norm")
    return frame.with_columns(first_id=first_id).filter(pl.col("query_id") != first_id)


same_text = rule(
    "T122",
    "same-text",
    on="topics",
    scope="file",
    severity="warning",
    fix="no",
    checks="same normalised text under two ids",
    rationale="The query counts twice in every mean, and its two sets of judgments may disagree.",
    example="topics.tsv:2: warning T122: topics 1 and 2 have the same text. Merge them, or remove "
    "one.",
    remedy="Merge them, or remove one",
)(
    where(
        _same_texts,
        "topics {first_id} and {query_id} have the same text",
        "repeat",
        line="text_line",
    )
)


def _long_texts(topics: TopicsView) -> pl.DataFrame:
    # A word and a blank have at least two bytes, so words are counted in long texts only.
    frame = topics.frame.filter(pl.col("text").str.len_bytes() >= 2 * MAX_WORDS)
    words = pl.col("text").str.count_matches(r"\S+")
    return frame.with_columns(words=words).filter(words > MAX_WORDS)


long_text = rule(
    "T123",
    "long-text",
    on="topics",
    scope="row",
    severity="warning",
    fix="no",
    checks=f"over {MAX_WORDS:,} words",
    rationale="No query is this long: a document was inserted by mistake, or a quote was not "
    "closed. Models truncate such a text, each at a different length.",
    example="topics.tsv:1: warning T123: text of 5,000 words. Check that this is a query.",
    remedy="Check that this is a query",
)(where(_long_texts, "text of {words:,} words", "such topic", line="text_line"))


no_judgments = rule(
    "T131",
    "no-judgments",
    on="topics",
    scope="query",
    severity="warning",
    fix="no",
    checks="test case with empty judgments",
    rationale="No result is right or wrong for such a query, so it has no score, and the mean "
    "covers only the other queries.",
    example="set.yaml:4: warning T131: no judgments for query 1; it is left out of the mean. Add "
    "its relevant documents, or remove the query.",
    remedy="Add its relevant documents, or remove the query",
)(recorded("T131", "query"))
