"""Keys of services: from the environment, into one header, and nowhere else."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import quote

from trectools_plus.errors import UsageError

HIDDEN = "***"
_SHORTEST = 8


@dataclass(frozen=True, slots=True)
class Key:
    """A secret that does not show itself.

    Attributes:
        value: The secret.
    """

    value: str = field(repr=False)

    def is_in(self, text: str) -> bool:
        """Return whether a text holds the secret; short ones, likely by chance, do not count."""
        return len(self.value) >= _SHORTEST and self.scrub(text) != text

    def scrub(self, text: str) -> str:
        """The text without the secret, plain or as JSON and URLs spell it."""
        for spelling in _spellings(self.value):
            text = text.replace(spelling, HIDDEN)
        return text


@cache
def _spellings(secret: str) -> list[str]:
    """The longest first: one may hold another."""
    spellings = {secret, json.dumps(secret)[1:-1], quote(secret, safe="")}
    return sorted(spellings, key=len, reverse=True)


def read_key(variable: str) -> Key:
    """The key in an environment variable.

    Raises:
        UsageError: If it is not set, empty, or cannot stand in a header.
    """
    value = os.environ.get(variable, "").strip()
    if not value:
        raise UsageError(
            "the environment variable for the key is not set or empty",
            where=f"key_env {variable}",
            remedy=f"export {variable}=… before you call",
        )
    if not value.isascii() or not value.isprintable():
        raise UsageError(
            "the key holds characters that cannot stand in a header", where=f"key_env {variable}"
        )
    return Key(value)
