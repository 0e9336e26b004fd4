"""Keys of services: from the environment, into one header, and nowhere else."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from urllib.parse import quote

from trectools_plus.errors import UsageError

HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Key:
    """A secret that does not show itself.

    Attributes:
        value: The secret.
    """

    value: str = field(repr=False)

    def scrub(self, text: str) -> str:
        """The text without the secret, plain or as JSON and URLs spell it."""
        spellings = {self.value, json.dumps(self.value)[1:-1], quote(self.value, safe="")}
        for spelling in sorted(spellings, key=len, reverse=True):
            text = text.replace(spelling, HIDDEN)
        return text


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
