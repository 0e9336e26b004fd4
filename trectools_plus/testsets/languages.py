"""The declared language of a test set, and texts from another field."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from trectools_plus.errors import FormatError, UsageError
from trectools_plus.testsets.model import TestQuery, TestSet
from trectools_plus.text import listed, plural
from trectools_plus.validation.texts import primary_language

TextField = Literal["text", "description"]


def languages_in(test_set: TestSet) -> dict[str, int]:
    """Return the number of queries by language, in the order of the set.

    The language of a query is its own or that of the metadata, as ISO 639-1 code; empty if neither
    is declared.
    """
    facts, queries = test_set.metadata, test_set.queries
    return dict(Counter(primary_language(one.language or facts.language) for one in queries))


def language_notes(test_set: TestSet) -> list[str]:
    """Return a note if the queries are in several languages."""
    counts = languages_in(test_set)
    if len(counts) < 2:
        return []
    shown = ", ".join(f"{language or 'none declared'} {n:,}" for language, n in counts.items())
    return [
        f"The queries are in several languages ({shown}), so the means over all queries depend on "
        "these numbers. The strata by language have the means of each language."
    ]


def split_languages(test_set: TestSet, where: str) -> dict[str, TestSet]:
    """Return a set for each language, in the order of the set.

    The language is appended to the name of a set, unless all queries are in one language.

    Args:
        test_set: The set.
        where: The name of the set in error messages.

    Raises:
        FormatError: If a query has no language, or a language no query with a relevant term.
    """
    counts = languages_in(test_set)
    if "" in counts:
        raise FormatError(
            f"{plural(counts[''], 'query declares', 'queries declare')} no language",
            path=where,
            remedy="add the field language to each query",
        )
    return {language: select_language(test_set, language, where) for language in counts}


def select_language(test_set: TestSet, language: str, where: str) -> TestSet:
    """Return the queries in one language; see :func:`split_languages`.

    Raises:
        FormatError: If no query with a relevant term is in this language.
    """
    wanted, counts = primary_language(language), languages_in(test_set)
    queries = tuple(
        query
        for query in test_set.queries
        if primary_language(query.language or test_set.metadata.language) == wanted
    )
    if not any(query.has_relevant for query in queries):
        raise FormatError(
            f"no query with a relevant term is in the language {language}",
            path=where,
            remedy=f"the languages of the set are {', '.join(code or 'none' for code in counts)}",
        )
    dataset_id = test_set.metadata.dataset_id + (f"-{wanted}" if len(counts) > 1 else "")
    return _labelled(test_set, queries, dataset_id, wanted)


def declared_language(test_set: TestSet, where: str) -> str:
    """Return the language of all queries, as ISO 639-1 code; empty if none is declared.

    Args:
        test_set: The set.
        where: The name of the set in error messages.

    Raises:
        FormatError: If the queries are in several languages.
    """
    declared = sorted(filter(None, languages_in(test_set)))
    if len(declared) > 1:
        raise FormatError(
            f"texts in several languages: {', '.join(declared)}",
            path=where,
            remedy="write one set per language: testset convert SET OUT --split-languages",
        )
    return "".join(declared)


def with_text_field(
    test_set: TestSet, text_field: TextField, language: str | None, where: str
) -> TestSet:
    """Return the set with texts from the given field, and with their language declared.

    A file with texts in one language and descriptions in another can be read as two sets. With
    ``description``, the descriptions replace the texts, and the language is appended to the name of
    the set.

    Args:
        test_set: The set as it was read.
        text_field: ``text`` or ``description``.
        language: The language of that field, as ISO 639-1 code. ``None`` means the declared
            language for texts, and no language for descriptions.
        where: The name of the set in error messages.

    Raises:
        FormatError: If a query has no description to use as its text.
        UsageError: If the set declares another language for its texts.
    """
    name, queries = test_set.metadata.dataset_id, test_set.queries
    if text_field == "description":
        missing = [one.query_id for one in queries if not (one.description or "").strip()]
        if missing:
            raise FormatError(
                f"queries without a description to use as their text: {listed(missing)}",
                path=where,
                remedy="add a description to each query, or use the field 'text'",
            )
        described = tuple(
            query.model_copy(update={"text": query.description, "description": None})
            for query in queries
        )
        return _labelled(test_set, described, f"{name}-{language or 'descriptions'}", language)
    if language is None:
        return test_set
    declared = declared_language(test_set, where)
    if declared not in ("", primary_language(language)):
        raise UsageError(
            f"the set declares the language {declared}, not {language}",
            where=where,
            remedy="omit --language, or select the field with this language",
        )
    return _labelled(test_set, queries, name, language)


def _labelled(
    test_set: TestSet, queries: tuple[TestQuery, ...], dataset_id: str, language: str | None
) -> TestSet:
    """Return the set with other queries and another name, and one language for all queries."""
    named = tuple(query.model_copy(update={"language": language or None}) for query in queries)
    metadata = test_set.metadata.model_copy(
        update={"dataset_id": dataset_id, "language": language or ""}
    )
    return test_set.model_copy(update={"queries": named, "metadata": metadata})
