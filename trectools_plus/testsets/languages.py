"""One language per test set: the one that it declares, and the field that has texts in it."""

from __future__ import annotations

from typing import Literal

from trectools_plus.errors import FormatError, UsageError
from trectools_plus.testsets.model import TestQuery, TestSet
from trectools_plus.validation.texts import primary_language

TextField = Literal["text", "description"]


def declared_language(test_set: TestSet, where: str) -> str:
    """Return the language that a set declares for all its texts; empty if it declares none.

    Args:
        test_set: The set.
        where: What to call it in an error.

    Raises:
        FormatError: If its fields declare several.
    """
    said = [test_set.metadata.language, *(query.language for query in test_set.queries)]
    found = {primary_language(language): language for language in said if language}
    if len(found) > 1:
        raise FormatError(
            f"texts in several languages: {', '.join(sorted(found))}",
            path=where,
            remedy="make a set of each language: a figure over both says nothing of either",
        )
    return next(iter(found), "")


def same_language(first: str, second: str) -> bool:
    """Return true if two codes name one language: ``en`` and ``en-GB`` do."""
    return primary_language(first) == primary_language(second)


def with_text_field(
    test_set: TestSet, text_field: TextField, language: str | None, where: str
) -> TestSet:
    """Return the set with its texts taken from a field, and their language declared.

    Two languages of one file are two sets: descriptions taken as texts replace them, and the set
    is then called after the language too.

    Args:
        test_set: The set as it was read.
        text_field: ``text`` or ``description``.
        language: The language of that field, as ISO 639-1 code; ``None`` leaves what the set says
            of its texts, and says nothing of descriptions.
        where: What to call the set in an error.

    Raises:
        FormatError: If a query has no such field.
        UsageError: If the set says that its texts have another language.
    """
    if text_field == "description":
        return _from_descriptions(test_set, language or "", where)
    if language is None:
        return test_set
    said = declared_language(test_set, where)
    if said and not same_language(said, language):
        raise UsageError(
            f"its language is {said}, not {language}",
            where=where,
            remedy="leave --language out, or take the field that has this language",
        )
    return _labelled(test_set, test_set.queries, test_set.metadata.dataset_id, language)


def _from_descriptions(test_set: TestSet, language: str, where: str) -> TestSet:
    queries = []
    for query in test_set.queries:
        if query.description is None or not query.description.strip():
            raise FormatError(
                f"query {query.query_id} has no description to take as its text",
                path=where,
                remedy="give each query one, or take the field text",
            )
        changes = {"text": query.description, "description": None}
        queries.append(query.model_copy(update=changes))
    dataset_id = f"{test_set.metadata.dataset_id}-{language or 'descriptions'}"
    return _labelled(test_set, tuple(queries), dataset_id, language)


def _labelled(
    test_set: TestSet, queries: tuple[TestQuery, ...], dataset_id: str, language: str
) -> TestSet:
    """Return the set with other queries, its name and one language for all of them."""
    named = tuple(query.model_copy(update={"language": language or None}) for query in queries)
    metadata = test_set.metadata.model_copy(update={"dataset_id": dataset_id, "language": language})
    return test_set.model_copy(update={"queries": named, "metadata": metadata})
