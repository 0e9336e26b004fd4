"""Rules on ids and texts of topics, whatever form the file has."""

from __future__ import annotations

import unicodedata

import polars as pl

from trectools_plus.formats.writing import UNWRITABLE, UNWRITABLE_STARTS
from trectools_plus.text import in_all, on, quoted, visible
from trectools_plus.validation.registry import FixName, Hit, RuleFix, rule
from trectools_plus.validation.rules.topics import lines
from trectools_plus.validation.topics.view import TopicsView

MAX_WORDS = 1000
"""Words of a text beyond which it is no query any more."""


@rule(
    "T111",
    "duplicate-id-same",
    on="topics",
    scope="file",
    severity="warning",
    fix=RuleFix("safe", "left out repeated topics"),
    checks="id twice, same text",
    rationale="Readers stop at the second one, or search twice and write every document twice. The "
    "repeat is taken out of TSV only: in YAML and JSON it may hold other fields.",
    example="topics.tsv:4: warning T111: topic 2 twice (first on line 2). Remove the repeat.",
    remedy="Remove the repeat",
)
def duplicate_id_same(topics: TopicsView) -> Hit | None:
    """A topic is repeated as it is."""
    again = _repeated(topics).filter(pl.col("same"))
    if again.is_empty():
        return None
    first = again.row(0, named=True)
    return _hit(
        again,
        f"topic {visible(first['query_id'])} twice (first on line {first['first_line']})"
        f"{in_all(again.height, 'such topic')}",
        fix=None if topics.form == "tsv" else "no",
    )


@rule(
    "T112",
    "duplicate-id-other",
    on="topics",
    scope="file",
    severity="error",
    fix="no",
    checks="id twice, other text",
    rationale="One id for two queries: their results are mixed, and judged by the same qrels.",
    example="topics.tsv:4: error T112: topic 2 has another text on line 2. Give each query an id "
    "of its own.",
    remedy="Give each query an id of its own",
)
def duplicate_id_other(topics: TopicsView) -> Hit | None:
    """An id stands for two texts."""
    again = _repeated(topics).filter(~pl.col("same"))
    if again.is_empty():
        return None
    first = again.row(0, named=True)
    return _hit(
        again,
        f"topic {visible(first['query_id'])} has another text on line {first['first_line']}"
        f"{in_all(again.height, 'such topic')}",
    )


def _repeated(topics: TopicsView) -> pl.DataFrame:
    """Topics whose id occurred before: ``line, query_id, first_line, same`` (the text)."""
    frame = topics.frame.filter(pl.col("query_id").is_not_null())
    twice = frame.filter(pl.col("query_id").is_duplicated())
    return (
        twice.with_columns(
            first_line=pl.col("line").first().over("query_id"),
            same=pl.col("text").eq_missing(pl.col("text").first().over("query_id")),
            at=pl.int_range(pl.len()).over("query_id"),
        )
        .filter(pl.col("at") > 0)
        .select("line", "query_id", "first_line", "same")
    )


@rule(
    "T113",
    "space-in-id",
    on="topics",
    scope="row",
    severity="error",
    fix=RuleFix("ask", "wrote '_' for blanks in ids"),
    checks="white space or control character in a query or document id, '#' in front of a query id",
    rationale="Runs and qrels are columns between blanks: an id with a blank in it cannot be "
    "written there, and one behind '#' is a comment. Underscores are written in TSV only: in a "
    "test set the id may stand elsewhere too.",
    example="topics.tsv:2: error T113: space in id 'q 2'. Write an underscore in its place.",
    remedy="Write an underscore in its place",
)
def space_in_id(topics: TopicsView) -> Hit | None:
    """An id cannot be written to a run or to qrels."""
    starts = pl.any_horizontal(
        pl.col("query_id").str.starts_with(start) for start in UNWRITABLE_STARTS
    )
    wrong = pl.col("query_id").str.contains(UNWRITABLE) | starts
    queries = topics.frame.filter(wrong).select("line", id="query_id", what=pl.lit("id"))
    parts = [queries]
    if topics.judgments is not None:
        judged = topics.judgments.frame.select("doc_id").with_columns(
            line=pl.Series(topics.judgments.line_numbers, dtype=pl.UInt32)
        )
        unwritable = judged.filter(pl.col("doc_id").str.contains(UNWRITABLE))
        parts.append(unwritable.select("line", id="doc_id", what=pl.lit("document id")))
    found = pl.concat(parts).sort("line", maintain_order=True)
    if found.is_empty():
        return None
    _, text, what = found.row(0)
    return Hit(
        f"{_what_is_wrong(text)} {what} {quoted(text)}{on(found.height, 'line')}",
        found["line"].to_list(),
        found.height,
        query_id=text if what == "id" else None,
        doc_id=text if what != "id" else None,
        remedy=_remedy(text),
        fix=None if topics.form == "tsv" and not text.startswith(UNWRITABLE_STARTS) else "no",
    )


def _remedy(text: str) -> str | None:
    if text != text.strip(" "):
        return "Take the blanks around it out"
    return None if " " in text else "Write an id without it"


def _what_is_wrong(text: str) -> str:
    if text.startswith("#"):
        return "'#', which begins a comment in runs, in front of"
    if " " in text:
        return "space in"
    if any(character.isspace() for character in text):
        return "white space in"
    return "byte order mark in" if text.startswith("\ufeff") else "control character in"


@rule(
    "T121",
    "empty-text",
    on="topics",
    scope="row",
    severity="error",
    fix="no",
    checks="empty query text",
    rationale="Search engines answer an empty query with nothing, everything or an error.",
    example="topics.tsv:2: error T121: topic 2 has no text. Write it, or drop the topic.",
    remedy="Write it, or drop the topic",
)
def empty_text(topics: TopicsView) -> Hit | None:
    """A topic's text is empty."""
    return lines.recorded(topics, "T121", "topic")


@rule(
    "T122",
    "same-text",
    on="topics",
    scope="file",
    severity="warning",
    fix="no",
    checks="same normalised text under two ids",
    rationale="The query counts twice in every mean, and its two sets of judgments may disagree.",
    example="topics.tsv:2: warning T122: topics 1 and 2 ask the same. Merge them, or drop one.",
    remedy="Merge them, or drop one",
)
def same_text(topics: TopicsView) -> Hit | None:
    """Two topics ask the same."""
    frame = topics.frame.filter(pl.col("query_id").is_not_null() & pl.col("text").is_not_null())
    norms = normalised(frame["text"])
    frame = frame.with_columns(norm=norms).filter(norms != "")
    twice = frame.filter(pl.col("norm").is_duplicated()).with_columns(
        first_id=pl.col("query_id").first().over("norm")
    )
    again = twice.filter(pl.col("query_id") != pl.col("first_id"))
    if again.is_empty():
        return None
    first = again.row(0, named=True)
    return _hit(
        again.with_columns(line="text_line"),
        f"topics {visible(first['first_id'])} and {visible(first['query_id'])} ask the same"
        f"{in_all(again.height, 'repeat')}",
    )


def normalised(texts: pl.Series) -> pl.Series:
    """Texts without case, normal form, extra white space and a last full stop or question mark."""
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


@rule(
    "T123",
    "long-text",
    on="topics",
    scope="row",
    severity="warning",
    fix="no",
    checks=f"over {MAX_WORDS:,} words",
    rationale="Nobody asks so much: a document has slipped in, or a quote was not closed. Models "
    "cut such a text off, each at another place.",
    example="topics.tsv:1: warning T123: 5,000 words. Is this a query?",
    remedy="Is this a query?",
)
def long_text(topics: TopicsView) -> Hit | None:
    """A text has too many words."""
    # A word and its blank take two bytes at least, so that few texts are counted.
    frame = topics.frame.filter(pl.col("text").str.len_bytes() >= 2 * MAX_WORDS)
    words = frame["text"].str.count_matches(r"\S+")
    long = frame.with_columns(words=words).filter(words > MAX_WORDS)
    if long.is_empty():
        return None
    return _hit(
        long.with_columns(line="text_line"),
        f"{long['words'][0]:,} words{on(long.height, 'topic')}",
    )


def _hit(found: pl.DataFrame, message: str, fix: FixName | None = None) -> Hit:
    lines, first = found["line"].to_list(), found["query_id"][0]
    return Hit(message, lines, found.height, query_id=first, fix=fix)
