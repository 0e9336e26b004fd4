"""Rules on the texts of a test set: languages, repeats, and texts of another part of the split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from trectools_plus.text import in_all, listed, plural, quoted, visible
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.rules.topics.topics import normalised
from trectools_plus.validation.texts import KNOWN_LANGUAGES, guess_language, near_across, near_pairs
from trectools_plus.validation.views.topics import TestSetView


@rule(
    "T213",
    "no-test-set",
    on="testset",
    scope="file",
    severity="error",
    fix="no",
    checks="topics without judgments, or judgments without texts",
    rationale="A test set consists of queries and of the terms or documents that they should find.",
    example="set.yaml: error T213: topics without judgments. Convert topics and qrels to a test "
    "set: testset convert TOPICS OUT.json --qrels QRELS.",
    remedy="Convert topics and qrels to a test set: testset convert TOPICS OUT.json --qrels QRELS",
)
def no_test_set(test_set: TestSetView) -> Hit | None:
    """The file is not a test set."""
    if test_set.is_test_set or test_set.topics.frame.is_empty():
        return None
    if test_set.topics.kind == "testset":
        return Hit("judgments without query texts")
    return Hit("topics without judgments")


@rule(
    "T231",
    "near-duplicate",
    on="testset",
    scope="file",
    severity="warning",
    fix="no",
    blocks_scoring=False,
    checks="two texts with the same word stems, or with three quarters of their character "
    "trigrams in common",
    rationale="Near-duplicates count twice in every mean, and intervals are too narrow because "
    "they assume independent queries.",
    example="set.yaml:9: warning T231: query 3 'Recurrent infection' is nearly the same as query "
    "1 'Recurrent infections' (line 3). Remove one, or reword it.",
    remedy="Remove one, or reword it",
)
def near_duplicate(test_set: TestSetView) -> Hit | None:
    """Two texts are nearly the same."""
    texts = test_set.texts
    norms = normalised(texts["text"])
    pairs = near_pairs(texts["text"].to_list(), test_set.language)
    # T122 reports equal texts.
    first: dict[int, int] = {}
    for earlier, later in pairs:
        if norms[earlier] != norms[later]:
            first.setdefault(later, earlier)
    if not first:
        return None
    later, earlier = next(iter(first.items()))
    one, other = texts.row(earlier, named=True), texts.row(later, named=True)
    message = (
        f"query {visible(other['query_id'])} {quoted(other['text'])} is nearly the same as query "
        f"{visible(one['query_id'])} {quoted(one['text'])} (line {one['text_line']})"
        f"{in_all(len(first), 'such text')}"
    )
    lines = texts["text_line"].gather(list(first)).to_list()
    return Hit(message, lines, len(first), query_id=other["query_id"])


@rule(
    "T221",
    "mixed-languages",
    on="testset",
    scope="file",
    severity="error",
    fix="no",
    blocks_scoring=False,
    checks="fields that declare several languages",
    rationale="A mean over queries in two languages describes neither: it depends on how many "
    "queries each language has.",
    example="set.yaml:9: error T221: the set is in de (line 2), query 3 is in en. Make a separate "
    "set for each language: testset convert SET OUT --split-languages.",
    remedy="Make a separate set for each language: testset convert SET OUT --split-languages",
)
def mixed_languages(test_set: TestSetView) -> Hit | None:
    """A set declares several languages."""
    declared = test_set.languages
    if declared["primary"].n_unique() < 2:
        return None
    general = declared.filter(pl.col("query_id").is_null())
    first = (declared if general.is_empty() else general).row(0, named=True)
    rows = declared.filter(pl.col("primary") != first["primary"])
    other = rows.row(0, named=True)
    message = f"{_language_statement(first)} (line {first['line']}), {_language_statement(other)}"
    if rows.height > 1:
        message += f" ({plural(rows.height, 'such query', 'such queries')} in all)"
    return Hit(message, rows["line"].to_list(), rows.height, query_id=other["query_id"])


@rule(
    "T222",
    "other-language",
    on="testset",
    scope="file",
    severity="warning",
    fix="no",
    blocks_scoring=False,
    checks="text whose function words are in another language than the set",
    rationale="A system finds a text in another language only by chance, or by its Latin words. "
    "Only texts with about two function words (and, of, with) are checked, and only "
    f"{', '.join(KNOWN_LANGUAGES)} are recognised.",
    example="set.yaml:7: warning T222: query 2 looks like de, not en. Translate it, or move it to "
    "a separate set.",
    remedy="Translate it, or move it to a separate set",
)
def other_language(test_set: TestSetView) -> Hit | None:
    """A text looks as if it were in another language."""
    if not test_set.is_test_set or test_set.languages["primary"].n_unique() > 1:
        return None
    guessed = test_set.texts.with_columns(
        guess=pl.col("text").map_elements(guess_language, return_dtype=pl.String)
    ).filter(pl.col("guess").is_not_null())
    expected = test_set.language or _most_frequent(guessed["guess"])
    if expected not in KNOWN_LANGUAGES:
        return None
    rows = guessed.filter(pl.col("guess") != expected)
    if rows.is_empty():
        return None
    first = rows.row(0, named=True)
    most = "" if test_set.language else " as most others do"
    message = f"query {visible(first['query_id'])} looks like {first['guess']}, not {expected}"
    message += most
    if rows.height > 1:
        named = listed(rows["query_id"].to_list())
        message += f" ({plural(rows.height, 'such query', 'such queries')}: {named})"
    return Hit(message, rows["text_line"].to_list(), rows.height, query_id=first["query_id"])


@rule(
    "T223",
    "no-language",
    on="testset",
    scope="file",
    severity="warning",
    fix="no",
    blocks_scoring=False,
    checks="no language declared",
    rationale="Without a language, queries in two languages can be mixed, and no figure states "
    "its language.",
    example="set.yaml: warning T223: no language is declared; the texts look like de. Add "
    "'language: de' to the metadata.",
    remedy="Add the language to the metadata",
)
def no_language(test_set: TestSetView) -> Hit | None:
    """A set does not declare its language."""
    if not test_set.is_test_set or not test_set.languages.is_empty():
        return None
    if test_set.topics.implied_language is not None:
        language, folder = test_set.topics.implied_language
        message = f"no language is declared; read as {language}, because of the folder {folder}"
        return Hit(message, severity="info", remedy=f"Add 'language: {language}' to the metadata")
    guess = _most_frequent(
        test_set.texts["text"].map_elements(guess_language, return_dtype=pl.String)
    )
    looks = f"; the texts look like {guess}" if guess else ""
    remedy = f"Add 'language: {guess}' to the metadata" if guess else None
    return Hit(f"no language is declared{looks}", remedy=remedy)


def _most_frequent(guesses: pl.Series) -> str:
    """Return the most frequent guess; empty for a tie, and without guesses."""
    ranked = Counter(guesses.drop_nulls().to_list()).most_common(2)
    tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
    return "" if tied or not ranked else str(ranked[0][0])


def _language_statement(row: dict[str, str | None]) -> str:
    subject = f"query {visible(row['query_id'])}" if row["query_id"] else "the set"
    return f"{subject} is in {visible(row['language'] or '')}"


@rule(
    "T241",
    "leaked-text",
    on="testset",
    scope="pair",
    severity="error",
    fix="no",
    blocks_scoring=False,
    checks="text that is also in another part of the split, exactly or nearly; a warning if two "
    "nearly equal texts have no relevant term in common",
    rationale="A system that was tuned on this text has seen the answer, so the held-out part "
    "does not show how it performs on new queries.",
    example="set.yaml:7: error T241: query 2 'Seizures' is the same as query 9 of used.yaml (line "
    "31). Remove it from one of the two.",
    remedy="Remove it from one of the two",
)
def leaked_text(test_set: TestSetView) -> Hit | None:
    """A text is in two parts."""
    leaks = [leak for part in test_set.parts for leak in _leaks(part, test_set)]
    if not leaks:
        return None
    certain = [leak for leak in leaks if leak.is_certain]
    first, *_ = shown = certain or leaks
    return Hit(
        first.message + in_all(len(shown), "such text"),
        [leak.line for leak in shown],
        len(shown),
        query_id=first.query_id,
        severity=None if certain else "warning",
    )


@dataclass(frozen=True, slots=True)
class _Leak:
    line: int
    query_id: str
    message: str
    is_certain: bool


def _leaks(part: TestSetView, test_set: TestSetView) -> Iterator[_Leak]:
    """Yield the texts of a set that are also in an earlier part."""
    texts = part.texts["text"].to_list(), test_set.texts["text"].to_list()
    for earlier, later in near_across(*texts, test_set.language):
        here, there = test_set.texts.row(later, named=True), part.texts.row(earlier, named=True)
        norms = normalised(pl.Series([here["text"], there["text"]]))
        one, other = test_set.relevant(here["query_id"]), part.relevant(there["query_id"])
        yield _Leak(
            here["text_line"],
            here["query_id"],
            _describe_leak(here, there, part.topics.name, same=norms[0] == norms[1]),
            norms[0] == norms[1] or not one or not other or not one.isdisjoint(other),
        )


def _describe_leak(here: dict[str, str], there: dict[str, str], name: str, *, same: bool) -> str:
    query = f"query {visible(here['query_id'])} {quoted(here['text'])}"
    other = f"query {visible(there['query_id'])}"
    where = f"of {visible(name)} (line {there['text_line']})"
    return (
        f"{query} is the same as {other} {where}"
        if same
        else (f"{query} is nearly the same as {other} {quoted(there['text'])} {where}")
    )


@rule(
    "T242",
    "shared-query-id",
    on="testset",
    scope="pair",
    severity="error",
    fix="no",
    blocks_scoring=False,
    checks="query id that is also in another part of the split",
    rationale="Runs and figures identify queries by their ids, so two queries with one id cannot "
    "be distinguished.",
    example="set.yaml:7: error T242: query id 2 is also in used.yaml (line 12). Give each query "
    "its own id.",
    remedy="Give each query its own id",
)
def shared_query_id(test_set: TestSetView) -> Hit | None:
    """A query id is in two parts."""
    found = []
    for part in test_set.parts:
        there = part.topics.frame.drop_nulls("query_id").unique("query_id", keep="first")
        shared = test_set.topics.frame.join(
            there.select("query_id", other_line="line"),
            on="query_id",
            how="inner",
            maintain_order="left",
        )
        found.append(shared.with_columns(part=pl.lit(part.topics.name)))
    rows = pl.concat(found) if found else pl.DataFrame()
    if rows.is_empty():
        return None
    first = rows.row(0, named=True)
    message = (
        f"query id {visible(first['query_id'])} is also in {visible(first['part'])} "
        f"(line {first['other_line']}){in_all(rows.height, 'shared id')}"
    )
    return Hit(message, rows["line"].to_list(), rows.height, query_id=first["query_id"])
