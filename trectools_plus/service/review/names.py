"""Names of those who judge."""

from __future__ import annotations

import unicodedata

from trectools_plus.errors import UsageError

LONGEST_NAME = 64


def clean_name(text: str) -> str:
    """A name as it is shown: composed characters, single blanks.

    Raises:
        UsageError: If nothing is left, it is longer than 64 characters, or holds characters that
            are not seen.
    """
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not name or len(name) > LONGEST_NAME:
        raise UsageError(f"expected a name of 1 to {LONGEST_NAME} characters")
    if any(unicodedata.category(character).startswith("C") for character in name):
        raise UsageError("the name holds a character that cannot be seen")
    return name


def key_of(name: str) -> str:
    """What two spellings of one name have in common: "anna" and "Anna" are one person."""
    folded = unicodedata.normalize("NFKC", clean_name(name)).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())
