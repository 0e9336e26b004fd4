"""One language per test set: what its fields declare."""

from __future__ import annotations

from trectools_plus.errors import FormatError
from trectools_plus.testsets.model import TestSet
from trectools_plus.validation.text_languages import primary_language


def declared_language(test_set: TestSet, where: str) -> str:
    """The language that a set declares for all its texts; empty if it declares none.

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
    """Whether two codes name one language: ``en`` and ``en-GB`` do."""
    return primary_language(first) == primary_language(second)
