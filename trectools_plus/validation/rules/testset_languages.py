"""Rules on the one language of a test set."""

from __future__ import annotations

from collections import Counter

import polars as pl

from trectools_plus.text import listed, plural, visible
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.testset_view import TestSetView
from trectools_plus.validation.text_languages import KNOWN_LANGUAGES, guess_language


@rule(
    "T221",
    "mixed-languages",
    on="testset",
    scope="file",
    severity="error",
    fix="no",
    blocks_scoring=False,
    checks="fields that declare several languages",
    rationale="A mean over queries in two languages says nothing of either: it depends on how "
    "many there are of each.",
    example="set.yaml:9: error T221: the set is in de (line 2), query 3 in en. Make a set of each "
    "language.",
    remedy="Make a set of each language",
)
def mixed_languages(test_set: TestSetView) -> Hit | None:
    """A set declares several languages."""
    said = test_set.languages
    if said["primary"].n_unique() < 2:
        return None
    general = said.filter(pl.col("query_id").is_null())
    first = (said if general.is_empty() else general).row(0, named=True)
    rows = said.filter(pl.col("primary") != first["primary"])
    other = rows.row(0, named=True)
    message = f"{_who(first)} (line {first['line']}), {_who(other)}"
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
    checks="text whose small words are those of another language than the set's",
    rationale="A text in another language is found by chance, or by its Latin words. Only texts "
    "with about two small words (and, of, with) are looked at, and only "
    f"{', '.join(KNOWN_LANGUAGES)} are told apart: of others nothing is known.",
    example="set.yaml:7: warning T222: query 2 looks like de, not en. Translate it, or make a set "
    "of its own.",
    remedy="Translate it, or make a set of its own",
)
def other_language(test_set: TestSetView) -> Hit | None:
    """A text looks as if it were in another language."""
    if not test_set.is_test_set or test_set.languages["primary"].n_unique() > 1:
        return None
    guessed = test_set.texts.with_columns(
        guess=pl.col("text").map_elements(guess_language, return_dtype=pl.String)
    ).filter(pl.col("guess").is_not_null())
    expected = test_set.language or _most(guessed["guess"])
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
    rationale="Without it nothing keeps queries of two languages apart, and no figure says what "
    "language it is about.",
    example="set.yaml: warning T223: no language is declared; the texts look like de. Write "
    "language: de into the metadata.",
    remedy="Write the language into the metadata",
)
def no_language(test_set: TestSetView) -> Hit | None:
    """A set does not say what language it is in."""
    if not test_set.is_test_set or not test_set.languages.is_empty():
        return None
    guess = _most(test_set.texts["text"].map_elements(guess_language, return_dtype=pl.String))
    looks = f"; the texts look like {guess}" if guess else ""
    remedy = f"Write language: {guess} into the metadata" if guess else None
    return Hit(f"no language is declared{looks}", remedy=remedy)


def _most(guesses: pl.Series) -> str:
    """The language guessed most often; empty without any guess, and on a tie."""
    ranked = Counter(guesses.drop_nulls().to_list()).most_common(2)
    tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
    return "" if tied or not ranked else str(ranked[0][0])


def _who(row: dict[str, str | None]) -> str:
    whose = f"query {visible(row['query_id'])}" if row["query_id"] else "the set"
    return f"{whose} is in {visible(row['language'] or '')}"
