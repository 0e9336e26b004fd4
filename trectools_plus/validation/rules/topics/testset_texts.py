"""Rules on the texts of a test set: languages, repeats, and texts of another part of the split."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import polars as pl

from trectools_plus.validation.registry import Case, Rule
from trectools_plus.validation.rules.topics.topics import normalised
from trectools_plus.validation.topics.texts import near_across, near_pairs
from trectools_plus.validation.views.places import Places, Value
from trectools_plus.validation.views.topics import TestSetView


def _no_test_set(test_set: TestSetView) -> Places:
    """Return a file with topics or judgments that is not a test set."""
    lacks = "judgments without query texts"
    if test_set.topics.kind != "testset":
        lacks = "topics without judgments"
    is_other = not test_set.is_test_set and not test_set.topics.frame.is_empty()
    return Places(int(is_other), first={"lacks": lacks})


T213 = Rule(
    "T213",
    "no-test-set",
    "testset",
    "error",
    checks="topics without judgments, or judgments without texts",
    rationale="A test set consists of queries and of the terms or documents that they should find.",
    example="set.yaml: error T213: topics without judgments. Convert topics and qrels to a test "
    "set: testset convert TOPICS OUT.json --qrels QRELS.",
    remedy="Convert topics and qrels to a test set: testset convert TOPICS OUT.json --qrels QRELS",
    cases=(Case("error", "{lacks}", _no_test_set),),
)


def _near_duplicates(test_set: TestSetView) -> pl.DataFrame:
    """Return the texts that are nearly the same as an earlier one; T122 reports equal texts."""
    texts = test_set.texts
    norms = normalised(texts["text"])
    first: dict[int, int] = {}
    for earlier, later in near_pairs(texts["text"].to_list(), test_set.language):
        if norms[earlier] != norms[later]:
            first.setdefault(later, earlier)
    pairs = _paired(texts, texts, list(first.values()), list(first))
    return pairs.with_columns(line="text_line")


def _paired(
    earlier: pl.DataFrame, later: pl.DataFrame, firsts: list[int], rows: list[int]
) -> pl.DataFrame:
    """Return rows of ``later``, with the columns of their rows of ``earlier`` as ``other_…``."""
    others = earlier[firsts].select(pl.all().name.prefix("other_"))
    return pl.concat([later[rows], others], how="horizontal")


T231 = Rule(
    "T231",
    "near-duplicate",
    "testset",
    "warning",
    blocks_scoring=False,
    checks="two texts with the same word stems, or with three quarters of their character "
    "trigrams in common",
    rationale="Near-duplicates count twice in every mean, and intervals are too narrow because "
    "they assume independent queries.",
    example="set.yaml:9: warning T231: query 3 'Recurrent infection' is nearly the same as query "
    "1 'Recurrent infections' (line 3). Remove one, or reword it.",
    remedy="Remove one, or reword it",
    cases=(
        Case(
            "warning",
            "query {query_id!v} {text!q} is nearly the same as query {other_query_id!v} "
            "{other_text!q} (line {other_text_line})[ ({count:such text})]",
            _near_duplicates,
        ),
    ),
)


def _mixed(test_set: TestSetView) -> pl.DataFrame:
    """Return the declarations of another language than the first, that of the set if it has one."""
    declared = test_set.languages
    if declared["primary"].n_unique() < 2:
        return pl.DataFrame()
    first = declared.sort(pl.col("query_id").is_not_null(), maintain_order=True)[:1]
    others = declared.filter(pl.col("primary") != first["primary"][0])
    subject = pl.when(pl.col("query_id").is_null()).then(pl.lit("the set"))
    named = subject.otherwise(pl.format("query {}", "query_id"))
    pairs = _paired(first, others, [0] * others.height, list(range(others.height)))
    other_subject = first.select(named).item()
    return pairs.with_columns(subject=named, other_subject=pl.lit(other_subject))


T221 = Rule(
    "T221",
    "mixed-languages",
    "testset",
    "error",
    blocks_scoring=False,
    checks="fields that declare several languages",
    rationale="A mean over queries in two languages describes neither: it depends on how many "
    "queries each language has.",
    example="set.yaml:9: error T221: the set is in de (line 2), query 3 is in en. Make a separate "
    "set for each language: testset convert SET OUT --split-languages.",
    remedy="Make a separate set for each language: testset convert SET OUT --split-languages",
    cases=(
        Case(
            "error",
            "{other_subject!v} is in {other_language!v} (line {other_line}), {subject!v} is in "
            "{language!v}[ ({count:such text})]",
            _mixed,
        ),
    ),
)


def _no_language(test_set: TestSetView) -> int:
    return int(test_set.is_test_set and test_set.languages.is_empty())


def _implied(test_set: TestSetView, _: Places) -> Mapping[str, Value]:
    language, folder = test_set.topics.implied_language or ("", "")
    return {"language": language, "folder": folder}


T223 = Rule(
    "T223",
    "no-language",
    "testset",
    "warning",
    blocks_scoring=False,
    checks="no language declared",
    rationale="Without a language, queries in two languages can be mixed, and no figure states "
    "its language.",
    example="set.yaml: warning T223: no language is declared. Add the language to the metadata.",
    remedy="Add the language to the metadata",
    cases=(
        Case(
            "info",
            "no language is declared; read as {language}, because of the folder {folder}",
            _no_language,
            given=lambda test_set, _: test_set.topics.implied_language is not None,
            shows=_implied,
            remedy="Add 'language: {language}' to the metadata",
        ),
        Case("warning", "no language is declared", _no_language),
    ),
)


def _leaks(test_set: TestSetView) -> pl.DataFrame:
    """Return the texts that are also in an earlier part of the split.

    Nearly equal texts without a common relevant term are returned only if there are no others.
    """
    parts = []
    for part in test_set.parts:
        earlier, later = part.texts, test_set.texts
        texts = earlier["text"].to_list(), later["text"].to_list()
        pairs = near_across(*texts, test_set.language)
        table = _paired(earlier, later, [pair[0] for pair in pairs], [pair[1] for pair in pairs])
        is_same = normalised(table["text"]) == normalised(table["other_text"])
        terms = [
            (test_set.relevant(one), part.relevant(other))
            for one, other in table.select("query_id", "other_query_id").iter_rows()
        ]
        related = [not one or not other or not one.isdisjoint(other) for one, other in terms]
        certain = is_same | pl.Series(related, dtype=pl.Boolean)
        how = pl.when(is_same).then(pl.lit("the same")).otherwise(pl.lit("nearly the same"))
        parts.append(
            table.with_columns(
                how=how, certain=certain, part=pl.lit(part.topics.name), line="text_line"
            )
        )
    found = pl.concat(parts) if parts else pl.DataFrame()
    return found if found.is_empty() or not found["certain"].any() else found.filter("certain")


leaked = partial(
    Case,
    message="query {query_id!v} {text!q} is {how} as query {other_query_id!v} {other_text!q} of "
    "{part!v} (line {other_text_line})[ ({count:such text})]",
    where=_leaks,
)
T241 = Rule(
    "T241",
    "leaked-text",
    "testset",
    "error",
    blocks_scoring=False,
    checks="text that is also in another part of the split, exactly or nearly; a warning if two "
    "nearly equal texts have no relevant term in common",
    rationale="A system that was tuned on this text has seen the answer, so the held-out part "
    "does not show how it performs on new queries.",
    example="set.yaml:7: error T241: query 2 'Seizures' is the same as query 9 of used.yaml (line "
    "31). Remove it from one of the two.",
    remedy="Remove it from one of the two",
    cases=(leaked("error", given=lambda _, places: places.first["certain"]), leaked("warning")),
)


def _shared_ids(test_set: TestSetView) -> pl.DataFrame:
    """Return the queries whose ids are also in an earlier part of the split."""
    found = []
    for part in test_set.parts:
        there = part.topics.frame.drop_nulls("query_id").unique("query_id", keep="first")
        other = there.select("query_id", other_line="line", part=pl.lit(part.topics.name))
        found.append(test_set.topics.frame.join(other, on="query_id", maintain_order="left"))
    return pl.concat(found) if found else pl.DataFrame()


T242 = Rule(
    "T242",
    "shared-query-id",
    "testset",
    "error",
    blocks_scoring=False,
    checks="query id that is also in another part of the split",
    rationale="Runs and figures identify queries by their ids, so two queries with one id cannot "
    "be distinguished.",
    example="set.yaml:7: error T242: query id 2 is also in used.yaml (line 12). Give each query "
    "its own id.",
    remedy="Give each query its own id",
    cases=(
        Case(
            "error",
            "query id {query_id!v} is also in {part!v} (line {other_line})[ ({count:shared id})]",
            _shared_ids,
        ),
    ),
)
