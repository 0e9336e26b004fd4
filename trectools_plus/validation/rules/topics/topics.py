"""Rules on topics and test sets: their lines, syntax, fields, ids, values and texts."""

from __future__ import annotations

import unicodedata

import polars as pl

from trectools_plus.formats.writing import UNWRITABLE, UNWRITABLE_STARTS
from trectools_plus.validation.registry import Case, Rule, SeverityName
from trectools_plus.validation.views.topics import TopicsView


def recorded(code: str, usual: SeverityName, noun: str = "line") -> tuple[Case, ...]:
    """Return the cases of the problems that the reader of a file has recorded, worst first.

    Args:
        code: The code of the rule.
        usual: Its usual severity.
        noun: The name of one place in the message.
    """

    def case(severity: SeverityName | None) -> Case:
        return Case(
            severity or usual,
            f"{{what}}[ (on {{count:{noun}}})]",
            lambda topics: topics.problems.places(code, severity),
            remedy="{remedy}",
            blocks=lambda topics: topics.problems.blocks_scoring(code, severity),
        )

    return tuple(map(case, ("error", None, "warning", "info")))


T101 = Rule(
    "T101",
    "separator",
    "topics",
    "error",
    checks="TSV row without a tab",
    rationale="A reader that splits at the tab uses the whole line as the id, or stops. If blanks "
    "separate id and text, only the owner of the file knows whether ids contain blanks.",
    example="topics.tsv:1: error T101: no tab between id and text in '1 first query'. Write id, "
    "tab, text on each line.",
    remedy="Write id, tab, text on each line",
    cases=recorded("T101", "error"),
)
T102 = Rule(
    "T102",
    "extra-tab",
    "topics",
    "warning",
    checks="second tab in a TSV row",
    rationale="Readers with a fixed number of columns stop, or cut the text at the second tab.",
    example="topics.tsv:2: warning T102: tab inside the text, read as a blank. Replace it with a "
    "blank.",
    remedy="Replace it with a blank",
    cases=recorded("T102", "warning"),
)
T103 = Rule(
    "T103",
    "header-line",
    "topics",
    "error",
    blocks_scoring=False,
    checks="first row names columns",
    rationale="Topics in TREC form have no header. Other tools take it for a query 'qid' with the "
    "text 'text', which is then in every run but not in the qrels. trectools-plus skips it.",
    example="topics.tsv:1: error T103: header line 'qid text'. trectools-plus skips it; "
    "remove it for other tools.",
    remedy="trectools-plus skips it; remove it for other tools",
    cases=recorded("T103", "error"),
)
T104 = Rule(
    "T104",
    "syntax",
    "topics",
    "error",
    checks="YAML, JSON or XML that cannot be parsed, NaN in JSON, tab used to indent YAML",
    rationale="A parser stops here, or reads other values than the author wrote. Python writes NaN "
    "into JSON; parsers in other languages reject it.",
    example="set.yaml:2: error T104: tab used to indent. Correct the line; nothing after it could "
    "be checked.",
    remedy="Correct the line; nothing after it could be checked",
    cases=recorded("T104", "error", "place"),
)
T105 = Rule(
    "T105",
    "missing-field",
    "topics",
    "error",
    checks="id or text missing or null",
    rationale="A query without an id cannot be matched with its results, and a query without text "
    "cannot be searched. Some programs read null as the id 'None'.",
    example="set.yaml:2: error T105: id is null. Give every topic an id and a text.",
    remedy="Give every topic an id and a text",
    cases=recorded("T105", "error", "place"),
)
T106 = Rule(
    "T106",
    "unknown-field",
    "topics",
    "error",
    checks="key not in the schema; the most similar key is suggested",
    rationale="A misspelled key is ignored without a warning: 'relevent' makes a test case "
    "without judgments.",
    example="set.yaml:4: error T106: unknown key 'relevent'; did you mean 'relevant'? Rename it.",
    remedy="Rename it",
    cases=recorded("T106", "error", "place"),
)


MAX_WORDS = 1000
"""Highest number of words in a query."""


def _repeated(topics: TopicsView, *, same: bool) -> pl.DataFrame:
    """Return topics whose id occurred before, with the same text or another one."""
    frame = topics.frame.filter(pl.col("query_id").is_not_null())
    firsts = pl.col("line", "text").first().over("query_id").name.prefix("first_")
    again = frame.with_columns(firsts).filter(pl.col("query_id").is_first_distinct().not_())
    return again.filter(pl.col("text").eq_missing(pl.col("first_text")) == same)


T111 = Rule(
    "T111",
    "duplicate-id-same",
    "topics",
    "warning",
    checks="id twice, with the same text",
    rationale="Readers stop at the second one, or search it twice and write every result twice.",
    example="topics.tsv:4: warning T111: topic 2 is repeated (first on line 2). Remove the "
    "repeated topic.",
    remedy="Remove the repeated topic",
    cases=(
        Case(
            "warning",
            "topic {query_id!v} is repeated (first on line {first_line})[ ({count:such topic})]",
            lambda topics: _repeated(topics, same=True),
        ),
    ),
)
T112 = Rule(
    "T112",
    "duplicate-id-other",
    "topics",
    "error",
    checks="id twice, with different texts",
    rationale="Two queries have one id: their results are mixed and scored with the same "
    "judgments.",
    example="topics.tsv:4: error T112: topic 2 has another text on line 2. Give each query its "
    "own id.",
    remedy="Give each query its own id",
    cases=(
        Case(
            "error",
            "topic {query_id!v} has another text on line {first_line}[ ({count:such topic})]",
            lambda topics: _repeated(topics, same=False),
        ),
    ),
)


def _unwritable(topics: TopicsView) -> pl.DataFrame:
    """Return the ids that cannot be written to a run or to qrels."""
    starts = pl.any_horizontal(
        pl.col("query_id").str.starts_with(start) for start in UNWRITABLE_STARTS
    )
    ids = topics.frame.filter(pl.col("query_id").str.contains(UNWRITABLE) | starts)
    parts = [ids.select("line", "query_id", text="query_id", what=pl.lit("id"))]
    if topics.judgments is not None:
        judged = topics.judgments.frame.select(
            "doc_id", line=pl.Series(topics.judgments.line_numbers, dtype=pl.UInt32)
        ).filter(pl.col("doc_id").str.contains(UNWRITABLE))
        what = pl.lit("document id")
        parts.append(judged.select("line", "doc_id", text="doc_id", what=what))
    return pl.concat(parts, how="diagonal_relaxed").sort("line", maintain_order=True)


T113 = Rule(
    "T113",
    "space-in-id",
    "topics",
    "error",
    checks="white space or control character in a query or document id, or '#' at the start of a "
    "query id",
    rationale="Blanks separate the columns of runs and qrels, so an id with a blank cannot be "
    "written there, and a line that starts with '#' is a comment.",
    example="topics.tsv:2: error T113: id 'q 2' has white space, a control character or '#' at "
    "its start; it cannot be written to runs and qrels. Write an id without it.",
    remedy="Write an id without it",
    cases=(
        Case(
            "error",
            "{what} {text!q} has white space, a control character or '#' at its start[ "
            "({count:such id})]; it cannot be written to runs and qrels",
            _unwritable,
        ),
    ),
)
T121 = Rule(
    "T121",
    "empty-text",
    "topics",
    "error",
    checks="empty query text",
    rationale="For an empty query, search engines return nothing, everything or an error.",
    example="topics.tsv:2: error T121: topic 2 has no text. Write a text, or remove the topic.",
    remedy="Write a text, or remove the topic",
    cases=recorded("T121", "error", "topic"),
)


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
    frame = frame.with_columns(first_id=pl.col("query_id").first().over("norm"), line="text_line")
    return frame.filter(pl.col("query_id") != pl.col("first_id"))


T122 = Rule(
    "T122",
    "same-text",
    "topics",
    "warning",
    checks="same normalised text under two ids",
    rationale="The query counts twice in every mean, and its two sets of judgments may disagree.",
    example="topics.tsv:2: warning T122: topics 1 and 2 have the same text. Merge them, or remove "
    "one.",
    remedy="Merge them, or remove one",
    cases=(
        Case(
            "warning",
            "topics {first_id!v} and {query_id!v} have the same text[ ({count:repeat})]",
            _same_texts,
        ),
    ),
)


def _long_texts(topics: TopicsView) -> pl.DataFrame:
    words = pl.col("text").str.count_matches(r"\S+")
    return topics.frame.with_columns(words=words, line="text_line").filter(words > MAX_WORDS)


T123 = Rule(
    "T123",
    "long-text",
    "topics",
    "warning",
    checks=f"over {MAX_WORDS:,} words",
    rationale="No query is this long: a document was inserted by mistake, or a quote was not "
    "closed. Models truncate such a text, each at a different length.",
    example="topics.tsv:1: warning T123: text of 5,000 words. Check that this is a query.",
    remedy="Check that this is a query",
    cases=(Case("warning", "text of {words} words[ ({count:such topic})]", _long_texts),),
)
T131 = Rule(
    "T131",
    "no-judgments",
    "topics",
    "warning",
    checks="test case with empty judgments",
    rationale="No result is right or wrong for such a query, so it has no score, and the mean "
    "covers only the other queries.",
    example="set.yaml:4: warning T131: no judgments for query 1; it is left out of the mean. Add "
    "its relevant documents, or remove the query.",
    remedy="Add its relevant documents, or remove the query",
    cases=recorded("T131", "warning", "query|queries"),
)
T114 = Rule(
    "T114",
    "id-not-text",
    "topics",
    "error",
    checks="YAML or JSON id that is not a string; a warning for a plain integer",
    rationale="YAML 1.1 reads 010 as 8, 12:30 as 750, 1.10 as 1.1 and no as false. The id "
    "in the run then differs from the id in the file.",
    example='set.yaml:2: error T114: id 010 is read as 8. Quote it: "010".',
    remedy="Quote it",
    cases=recorded("T114", "error", "place"),
)
T115 = Rule(
    "T115",
    "boolean-value",
    "topics",
    "error",
    checks="NO, yes, on, off or true in place of a text or grade; another type in place of a text",
    rationale="YAML 1.1 reads NO, the country code, as false. Some programs read the grade 'true' "
    "as 1; others stop.",
    example='set.yaml:3: error T115: text NO is the boolean false. Quote it: "NO".',
    remedy="Quote it",
    cases=recorded("T115", "error", "place"),
)
T116 = Rule(
    "T116",
    "duplicate-key",
    "topics",
    "error",
    checks="mapping key twice (PyYAML, json and orjson keep the last)",
    rationale="Loaders keep the last of two equal keys and give no warning, so a judgment or a "
    "whole query is lost.",
    example="set.yaml:6: error T116: key d01 is repeated (line 5: 2; here: 0); loaders keep the "
    "last value. Keep one of them.",
    remedy="Keep one of them",
    cases=recorded("T116", "error", "place"),
)
T117 = Rule(
    "T117",
    "text-cut",
    "topics",
    "warning",
    checks="text as a plain YAML scalar followed by ' #'",
    rationale="A blank followed by '#' begins a comment, so 'C # language' is read as 'C'.",
    example="set.yaml:3: warning T117: text is cut at '#': 'C'. Quote the text if the rest "
    "belongs to it.",
    remedy="Quote the text if the rest belongs to it",
    cases=recorded("T117", "warning", "place"),
)
T118 = Rule(
    "T118",
    "field-value",
    "topics",
    "error",
    checks="category, difficulty or query_type with an unknown word; metadata or a remark that is "
    "not text",
    rationale="Figures are reported for each category and difficulty, so an unknown word forms a "
    "separate group. Version 1.10 without quotes is the number 1.1.",
    example="set.yaml:5: error T118: difficulty is 'simple', not one of easy, medium, hard. Write "
    "one of the known words, or a text in quotes.",
    remedy="Write one of the known words, or a text in quotes",
    cases=recorded("T118", "error", "place"),
)
