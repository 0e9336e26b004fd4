"""Keys of services, which come from the environment and appear in no file or message."""

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
    """A secret that its ``repr`` does not show.

    Attributes:
        value: The secret.
    """

    value: str = field(repr=False)

    def is_in(self, text: str) -> bool:
        """Return whether a text contains the secret; too short secrets would match by chance."""
        return len(self.value) >= _SHORTEST and self.scrub(text) != text

    def scrub(self, text: str) -> str:
        """Replace the secret in a text: as it is, escaped as in JSON, or quoted as in a URL."""
        for spelling in _spellings(self.value):
            text = text.replace(spelling, HIDDEN)
        return text


@cache
def _spellings(secret: str) -> list[str]:
    """Return the longest spelling first, because it may contain another."""
    spellings = {secret, json.dumps(secret)[1:-1], quote(secret, safe="")}
    return sorted(spellings, key=len, reverse=True)


def read_key(variable: str) -> Key:
    """Read the key from an environment variable.

    Raises:
        UsageError: If the variable is not set or empty, or its value is not valid in a header.
    """
    value = os.environ.get(variable, "").strip()
    if not value:
        raise UsageError(
            "the environment variable for the key is not set or empty",
            where=f"key_env {variable}",
            remedy=f"run export {variable}=… first",
        )
    if not value.isascii() or not value.isprintable():
        raise UsageError(
            "the key contains characters that are not valid in a header",
            where=f"key_env {variable}",
            remedy="use printable ASCII only",
        )
    return Key(value)
