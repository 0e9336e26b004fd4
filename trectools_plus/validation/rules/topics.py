"""Rules on topics and test sets, and the catalogue of all rules.

The reader of a file finds the places that break a rule without cases.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from trectools_plus.formats.writing import UNWRITABLE, UNWRITABLE_STARTS
from trectools_plus.validation.registry import Case, Registry, rule
from trectools_plus.validation.rules import RULES
from trectools_plus.validation.texts import near_pairs

if TYPE_CHECKING:
    from trectools_plus.validation.views.topics import TopicsView

_ID, _TEXT, _GRADE = pl.col("query_id"), pl.col("text"), pl.col("grade")

MAX_WORDS = 1000
"""Highest number of words in a query."""


def _repeated(topics: TopicsView, *, same: bool) -> pl.DataFrame:
    """Return topics whose id occurred before, with the same text or another one."""
    frame = topics.frame.filter(_ID.is_not_null())
    firsts = pl.col("line", "text").first().over("query_id").name.prefix("first_")
    again = frame.with_columns(firsts).filter(_ID.is_first_distinct().not_())
    return again.filter(_TEXT.eq_missing(pl.col("first_text")) == same)


def _unwritable(topics: TopicsView) -> pl.DataFrame:
    """Return the ids that cannot be written to a run or to qrels."""
    starts = pl.any_horizontal(_ID.str.starts_with(start) for start in UNWRITABLE_STARTS)
    ids = topics.frame.filter(_ID.str.contains(UNWRITABLE) | starts)
    documents = topics.judged.filter(pl.col("doc_id").str.contains(UNWRITABLE))
    parts = [
        ids.select("line", "query_id", text="query_id", what=pl.lit("id")),
        documents.select("line", "doc_id", text="doc_id", what=pl.lit("document id")),
    ]
    return pl.concat(parts, how="diagonal_relaxed").sort("line", maintain_order=True)


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
    frame = frame.with_columns(first_id=_ID.first().over("norm"), line="text_line")
    return frame.filter(pl.col("first_id") != _ID)


def _long_texts(topics: TopicsView) -> pl.DataFrame:
    words = _TEXT.str.count_matches(r"\S+")
    return topics.frame.with_columns(words=words, line="text_line").filter(words > MAX_WORDS)


TOPIC_RULES = (
    rule(
        "T101",
        "separator",
        "error",
        "TSV row without a tab",
        "A reader that splits at the tab uses the whole line as the id, or stops. If blanks "
        "separate id and text, only the owner of the file knows whether ids contain blanks.",
        "topics.tsv:1: error T101: no tab between id and text in '1 first query'. Write id, tab, "
        "text on each line.",
        "Write id, tab, text on each line",
    ),
    rule(
        "T102",
        "extra-tab",
        "warning",
        "second tab in a TSV row",
        "Readers with a fixed number of columns stop, or cut the text at the second tab.",
        "topics.tsv:2: warning T102: tab inside the text, read as a blank. Replace it with a "
        "blank.",
        "Replace it with a blank",
    ),
    rule(
        "T103",
        "header-line",
        "error",
        "first row names columns",
        "Topics in TREC form have no header. Other tools take it for a query 'qid' with the text "
        "'text', which is then in every run but not in the qrels. trectools-plus skips it.",
        "topics.tsv:1: error T103: header line 'qid text'. trectools-plus skips it; remove it for "
        "other tools.",
        "trectools-plus skips it; remove it for other tools",
        blocks_scoring=False,
    ),
    rule(
        "T104",
        "syntax",
        "error",
        "YAML, JSON or XML that cannot be parsed, NaN in JSON, tab used to indent YAML",
        "A parser stops here, or reads other values than the author wrote. Python writes NaN into "
        "JSON; parsers in other languages reject it.",
        "set.yaml:2: error T104: tab used to indent. Correct the line; nothing after it could be "
        "checked.",
        "Correct the line; nothing after it could be checked",
    ),
    rule(
        "T105",
        "missing-field",
        "error",
        "id or text missing or null",
        "A query without an id cannot be matched with its results, and a query without text "
        "cannot be searched. Some programs read null as the id 'None'.",
        "set.yaml:2: error T105: id is null. Give every topic an id and a text, and every judgment "
        "a document id and a grade.",
        "Give every topic an id and a text, and every judgment a document id and a grade",
    ),
    rule(
        "T106",
        "unknown-field",
        "error",
        "key not in the schema; the most similar key is suggested",
        "A misspelled key is ignored without a warning: 'relevent' makes a test case without "
        "judgments.",
        "set.yaml:4: error T106: unknown key 'relevent'; did you mean 'relevant'? Rename it.",
        "Rename it",
    ),
    rule(
        "T114",
        "id-not-text",
        "error",
        "YAML or JSON id that is not a string; a warning for a plain integer",
        "YAML 1.1 reads 010 as 8, 12:30 as 750, 1.10 as 1.1 and no as false. The id in the run "
        "then differs from the id in the file.",
        'set.yaml:2: error T114: id 010 is read as 8. Quote it: "010".',
        "Quote it",
    ),
    rule(
        "T115",
        "boolean-value",
        "error",
        "NO, yes, on, off or true in place of a text or grade; another type in place of a text",
        "YAML 1.1 reads NO, the country code, as false. Some programs read the grade 'true' as 1; "
        "others stop.",
        'set.yaml:3: error T115: text NO is the boolean false. Quote it: "NO".',
        "Quote it",
    ),
    rule(
        "T116",
        "duplicate-key",
        "error",
        "mapping key twice (PyYAML, json and orjson keep the last)",
        "Loaders keep the last of two equal keys and give no warning, so a judgment or a whole "
        "query is lost.",
        "set.yaml:6: error T116: key d01 is repeated (line 5: 2; here: 0); loaders keep the last "
        "value. Keep one of them.",
        "Keep one of them",
    ),
    rule(
        "T117",
        "text-cut",
        "warning",
        "text as a plain YAML scalar followed by ' #'",
        "A blank followed by '#' begins a comment, so 'C # language' is read as 'C'.",
        "set.yaml:3: warning T117: text is cut at '#': 'C'. Quote the text if the rest belongs to "
        "it.",
        "Quote the text if the rest belongs to it",
    ),
    rule(
        "T118",
        "field-value",
        "error",
        "category, difficulty or query_type with an unknown word; metadata or a remark that is "
        "not text",
        "Figures are reported for each category and difficulty, so an unknown word forms a "
        "separate group. Version 1.10 without quotes is the number 1.1.",
        "set.yaml:5: error T118: difficulty is 'simple', not one of easy, medium, hard. Write one "
        "of the known words, or a text in quotes.",
        "Write one of the known words, or a text in quotes",
    ),
    rule(
        "T121",
        "empty-text",
        "error",
        "empty query text",
        "For an empty query, search engines return nothing, everything or an error.",
        "topics.tsv:2: error T121: topic 2 has no text. Write a text, or remove the topic.",
        "Write a text, or remove the topic",
    ),
    rule(
        "T131",
        "no-judgments",
        "warning",
        "test case with empty judgments",
        "No result is right or wrong for such a query, so it has no score, and the mean covers "
        "only the other queries.",
        "set.yaml:4: warning T131: no judgments for query 1; it is left out of the mean. Add its "
        "relevant documents, or remove the query.",
        "Add its relevant documents, or remove the query",
    ),
    rule(
        "T111",
        "duplicate-id-same",
        "warning",
        "id twice, with the same text",
        "Readers stop at the second one, or search it twice and write every result twice.",
        "topics.tsv:4: warning T111: topic 2 is repeated (first on line 2). Write each topic once, "
        "in a test set with all its judgments.",
        "Write each topic once, in a test set with all its judgments",
        "topic {query_id!v} is repeated (first on line {first_line})[ ({count:such topic})]",
        lambda topics: _repeated(topics, same=True),
    ),
    rule(
        "T112",
        "duplicate-id-other",
        "error",
        "id twice, with different texts",
        "Two queries have one id: their results are mixed and scored with the same judgments.",
        "topics.tsv:4: error T112: topic 2 has another text on line 2. Give each query its own id.",
        "Give each query its own id",
        "topic {query_id!v} has another text on line {first_line}[ ({count:such topic})]",
        lambda topics: _repeated(topics, same=False),
    ),
    rule(
        "T113",
        "space-in-id",
        "error",
        "white space or control character in a query or document id, or '#' at the start of a "
        "query id",
        "Blanks separate the columns of runs and qrels, so an id with a blank cannot be written "
        "there, and a line that starts with '#' is a comment.",
        "topics.tsv:2: error T113: id 'q 2' has white space, a control character or '#' at its "
        "start; it cannot be written to runs and qrels. Write an id without it.",
        "Write an id without it",
        "{what} {text!q} has white space, a control character or '#' at its start[ "
        "({count:such id})]; it cannot be written to runs and qrels",
        _unwritable,
    ),
    rule(
        "T122",
        "same-text",
        "warning",
        "same normalised text under two ids",
        "The query counts twice in every mean, and its two sets of judgments may disagree.",
        "topics.tsv:2: warning T122: topics 1 and 2 have the same text. Merge them, or remove one.",
        "Merge them, or remove one",
        "topics {first_id!v} and {query_id!v} have the same text[ ({count:repeat})]",
        _same_texts,
    ),
    rule(
        "T123",
        "long-text",
        "warning",
        f"over {MAX_WORDS:,} words",
        "No query is this long: a document was inserted by mistake, or a quote was not closed. "
        "Models truncate such a text, each at a different length.",
        "topics.tsv:1: warning T123: text of 5,000 words. Check that this is a query.",
        "Check that this is a query",
        "text of {words} words[ ({count:such topic})]",
        _long_texts,
    ),
)

LOWEST_GRADE, HIGHEST_GRADE = 0, 3


def _terms(test_set: TopicsView, status: str) -> pl.DataFrame:
    """Return the judgments whose ids have a status, with the terms to use instead.

    If there are several ids, ``uses`` names the terms for the first five.
    """
    if test_set.terms is None:
        return pl.DataFrame()
    rows = [
        (term_id, state.term_id or " or ".join(state.replaced_by) or "another term")
        for term_id in test_set.judged["doc_id"].unique(maintain_order=True)
        if (state := test_set.terms.resolve(term_id)).status == status
    ]
    shown = "; ".join(f"{term_id} → {use}" for term_id, use in rows[:5])
    if len(rows) > 5:
        shown += f"; and {len(rows) - 5} more"
    table = pl.DataFrame(rows, {"doc_id": pl.String, "use": pl.String}, orient="row").with_columns(
        uses=pl.lit(f"the replacement of each: {shown}") if len(rows) > 1 else "use"
    )
    return test_set.judged.join(table, on="doc_id", maintain_order="left")


def _cases(status: str, message: str, remedy: str | None = None) -> tuple[Case, ...]:
    """Return the cases of ids with a status; they are no errors if such ids are dropped."""
    message += "[ ({count:such judgment})]"
    case = partial(Case, message=message, where=partial(_terms, status=status), remedy=remedy)
    return case("warning", given=lambda test_set, _: test_set.drops_unknown_terms), case("error")


def _without_relevant(test_set: TopicsView) -> pl.DataFrame:
    """Return the queries without a relevant term; none if all have only wrong terms."""
    relevant = test_set.judged.filter(_GRADE > 0)["query_id"]
    judged = _ID.is_in(test_set.judged["query_id"].implode())
    has_wrong_terms = relevant.is_empty() and test_set.queries.select(judged.all()).item()
    if not test_set.is_test_set or has_wrong_terms:
        return pl.DataFrame()
    return test_set.queries.filter(~_ID.is_in(relevant.implode()))


def _no_language(test_set: TopicsView) -> bool:
    return test_set.is_test_set and not (test_set.cases and test_set.cases.languages)


def _near_duplicates(test_set: TopicsView) -> pl.DataFrame:
    """Return the texts that are nearly the same as an earlier one; T122 reports equal texts."""
    texts = test_set.query_texts
    norms = normalised(texts["text"])
    first: dict[int, int] = {}
    for earlier, later in near_pairs(texts["text"].to_list(), test_set.language):
        if norms[earlier] != norms[later]:
            first.setdefault(later, earlier)
    others = texts[list(first.values())].select(pl.all().name.prefix("other_"))
    pairs = pl.concat([texts[list(first)], others], how="horizontal")
    return pairs.with_columns(line="text_line")


def _ids(test_set: TopicsView) -> pl.DataFrame:
    return test_set.frame.drop_nulls("query_id").with_columns(same="query_id")


def _texts(test_set: TopicsView) -> pl.DataFrame:
    texts = test_set.query_texts
    return texts.with_columns(same=normalised(texts["text"]), line="text_line")


def _in_earlier_parts(
    test_set: TopicsView, keyed: Callable[[TopicsView], pl.DataFrame]
) -> pl.DataFrame:
    """Return the queries whose key, in the column ``same``, is also in an earlier part."""
    found = []
    for part in test_set.earlier_parts:
        if test_set.language and part.language and test_set.language != part.language:
            continue  # they declare different languages
        earlier = keyed(part).unique("same", keep="first", maintain_order=True)
        other = earlier.select(
            "same", other_id="query_id", other_line="line", part=pl.lit(part.name)
        )
        found.append(keyed(test_set).join(other, on="same", maintain_order="left"))
    return pl.concat(found) if found else pl.DataFrame()


TEST_SET_RULES = (
    rule(
        "T201",
        "unknown-term",
        "error",
        "expected id that is not in the ontology",
        "No system can find a term that does not exist, so every system fails this query.",
        "set.yaml:5: error T201: HP:9999999 is not a term of the ontology. Correct the id, or "
        "name the ontology that it comes from.",
        "Correct the id, or name the ontology that it comes from",
        *_cases("unknown", "{doc_id!v} is not a term of the ontology"),
    ),
    rule(
        "T202",
        "obsolete-term",
        "error",
        "expected id of an obsolete term; names the replacement",
        "Obsolete terms are not searched. This package reads an obsolete id as the term that "
        "replaces it, if there is only one; other programs find nothing.",
        "set.yaml:5: error T202: HP:0040065 is obsolete. Use HP:0040070.",
        "Use the terms that replace them",
        *_cases("obsolete", "{doc_id!v} is obsolete", "Use {uses}"),
    ),
    rule(
        "T203",
        "alternative-id",
        "warning",
        "expected id that was merged into another term",
        "The id was merged into a term that has another id now. This package treats both as the "
        "same term; other programs compare ids as text and find nothing.",
        "set.yaml:5: warning T203: HP:0001470 is an alternative id of HP:0000006. Write the "
        "primary id of the term.",
        "Write the primary id of the term",
        "{doc_id!v} is an alternative id of {use!v}[ ({count:such judgment})]",
        partial(_terms, status="alternative"),
    ),
    rule(
        "T211",
        "grade-scale",
        "error",
        f"grade outside {LOWEST_GRADE} to {HIGHEST_GRADE}",
        "Test sets use grades from 0 (judged, not relevant) to 3 (the exact term), so that gains "
        "of two sets are comparable.",
        "set.yaml:5: error T211: grade 4 of HP:0001250 is not from 0 to 3. Write a grade from 0 "
        "to 3.",
        f"Write a grade from {LOWEST_GRADE} to {HIGHEST_GRADE}",
        f"grade {{grade}} of {{doc_id!v}} is not from {LOWEST_GRADE} to {HIGHEST_GRADE}"
        "[ ({count:such grade})]",
        lambda test_set: test_set.judged.filter(~_GRADE.is_between(LOWEST_GRADE, HIGHEST_GRADE)),
        blocks_scoring=False,
    ),
    rule(
        "T212",
        "nothing-to-find",
        "error",
        "query without a grade above 0, in a set that has such grades",
        "No result is right for such a query: it counts 0 for every system if terms are judged, "
        "and is left out of every mean otherwise. A set of wrong terms only measures whether a "
        "search finds nothing with confidence.",
        "set.yaml:4: error T212: query 1 has no relevant term. Name the terms that it should "
        "find, or remove the query.",
        "Name the terms that it should find, or remove the query",
        "query {query_id!v} has no relevant term[ ({count:such text})]",
        _without_relevant,
        blocks_scoring=False,
    ),
    rule(
        "T213",
        "no-test-set",
        "error",
        "topics without judgments, or judgments without texts",
        "A test set consists of queries and of the terms or documents that they should find.",
        "set.yaml: error T213: topics without judgments. Convert topics and qrels to a test set: "
        "trectools-plus testset convert TOPICS OUT.json --qrels QRELS.",
        "Convert topics and qrels to a test set: trectools-plus testset convert TOPICS OUT.json "
        "--qrels QRELS",
        Case(
            "error",
            "topics without judgments",
            lambda test_set: test_set.cases is None and test_set.n_rows > 0,
        ),
        Case(
            "error",
            "judgments without query texts",
            lambda test_set: not test_set.is_test_set and test_set.n_rows > 0,
        ),
    ),
    rule(
        "T223",
        "no-language",
        "warning",
        "no language declared",
        "Without a language, queries in two languages can be mixed, and no figure states its "
        "language.",
        "set.yaml: warning T223: no language is declared. Add the language to the metadata.",
        "Add the language to the metadata",
        Case(
            "info",
            "no language is declared; read as {view.language}, because of the name of the folder",
            _no_language,
            given=lambda test_set, _: test_set.implied_language,
            remedy="Add 'language: {view.language}' to the metadata",
        ),
        Case("warning", "no language is declared", _no_language),
        blocks_scoring=False,
    ),
    rule(
        "T231",
        "near-duplicate",
        "warning",
        "two texts with the same word stems, or with three quarters of their character trigrams "
        "in common",
        "Near-duplicates count twice in every mean, and intervals are too narrow because they "
        "assume independent queries.",
        "set.yaml:9: warning T231: query 3 'Recurrent infection' is nearly the same as query 1 "
        "'Recurrent infections' (line 3). Remove one, or reword it.",
        "Remove one, or reword it",
        "query {query_id!v} {text!q} is nearly the same as query {other_query_id!v} "
        "{other_text!q} (line {other_text_line})[ ({count:such text})]",
        _near_duplicates,
        blocks_scoring=False,
    ),
    rule(
        "T241",
        "leaked-text",
        "error",
        "text that is also in another part of the split",
        "A system that was tuned on this text has seen the answer, so the held-out part does not "
        "show how it performs on new queries.",
        "set.yaml:7: error T241: query 2 'Seizures' is the same as query 9 of used.yaml (line "
        "31). Remove it from one of the two.",
        "Remove it from one of the two",
        "query {query_id!v} {text!q} is the same as query {other_id!v} of {part!v} (line "
        "{other_line})[ ({count:such text})]",
        partial(_in_earlier_parts, keyed=_texts),
        blocks_scoring=False,
    ),
    rule(
        "T242",
        "shared-query-id",
        "error",
        "query id that is also in another part of the split",
        "Runs and figures identify queries by their ids, so two queries with one id cannot be "
        "distinguished.",
        "set.yaml:7: error T242: query id 2 is also in used.yaml (line 12). Give each query its "
        "own id.",
        "Give each query its own id",
        "query id {query_id!v} is also in {part!v} (line {other_line})[ ({count:shared id})]",
        partial(_in_earlier_parts, keyed=_ids),
        blocks_scoring=False,
    ),
)

CATALOGUE = Registry((*RULES, *TOPIC_RULES, *TEST_SET_RULES))
