"""Rules on the texts of a test set: languages, repeats, and texts of another part of the split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import polars as pl

from trectools_plus.validation.registry import Case, Rule
from trectools_plus.validation.rules.topics.topics import normalised
from trectools_plus.validation.topics.texts import near_pairs
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
    others = texts[list(first.values())].select(pl.all().name.prefix("other_"))
    pairs = pl.concat([texts[list(first)], others], how="horizontal")
    return pairs.with_columns(line="text_line")


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


def _no_language(test_set: TestSetView) -> int:
    return int(test_set.is_test_set and test_set.topics.languages.is_empty())


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


def _ids(test_set: TestSetView) -> pl.DataFrame:
    return test_set.topics.frame.drop_nulls("query_id").with_columns(same="query_id")


def _texts(test_set: TestSetView) -> pl.DataFrame:
    texts = test_set.texts
    return texts.with_columns(same=normalised(texts["text"]), line="text_line")


def _in_earlier_parts(
    test_set: TestSetView, keyed: Callable[[TestSetView], pl.DataFrame]
) -> pl.DataFrame:
    """Return the queries whose key, in the column ``same``, is also in an earlier part."""
    found = []
    for part in test_set.parts:
        earlier = keyed(part).unique("same", keep="first", maintain_order=True)
        name = pl.lit(part.topics.name)
        other = earlier.select("same", other_id="query_id", other_line="line", part=name)
        found.append(keyed(test_set).join(other, on="same", maintain_order="left"))
    return pl.concat(found) if found else pl.DataFrame()


T241 = Rule(
    "T241",
    "leaked-text",
    "testset",
    "error",
    blocks_scoring=False,
    checks="text that is also in another part of the split",
    rationale="A system that was tuned on this text has seen the answer, so the held-out part "
    "does not show how it performs on new queries.",
    example="set.yaml:7: error T241: query 2 'Seizures' is the same as query 9 of used.yaml (line "
    "31). Remove it from one of the two.",
    remedy="Remove it from one of the two",
    cases=(
        Case(
            "error",
            "query {query_id!v} {text!q} is the same as query {other_id!v} of {part!v} (line "
            "{other_line})[ ({count:such text})]",
            partial(_in_earlier_parts, keyed=_texts),
        ),
    ),
)
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
            partial(_in_earlier_parts, keyed=_ids),
        ),
    ),
)
