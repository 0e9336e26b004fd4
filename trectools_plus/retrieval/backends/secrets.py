"""Keys of services: read from the environment, and never written to a file or message."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from urllib.parse import quote

from trectools_plus.errors import UsageError
from trectools_plus.text import HIDDEN

_MIN_LENGTH = 8
"""A shorter secret could be in an id by chance."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret, which ``repr`` does not show.

    Attributes:
        value: The secret.
    """

    value: str = field(repr=False)

    def is_in(self, text: str) -> bool:
        """Return whether a text contains the secret; False for one of fewer than 8 characters."""
        return len(self.value) >= _MIN_LENGTH and self.scrub(text) != text

    def scrub(self, text: str) -> str:
        """Replace the secret in a text by ``***``.

        It may be escaped for JSON or for a URL.
        """
        spellings = {self.value, json.dumps(self.value)[1:-1], quote(self.value, safe="")}
        # The longest first, because it may contain another.
        for spelling in sorted(spellings, key=len, reverse=True):
            text = text.replace(spelling, HIDDEN)
        return text


def read_key(variable: str, option: str = "key_env") -> Secret:
    """Read the key from an environment variable.

    Args:
        variable: The variable.
        option: The setting or option that names it, for messages.

    Raises:
        UsageError: If the variable is not set or empty, or its value is not valid in a header.
    """
    value = os.environ.get(variable, "").strip()
    if not value or not value.isascii() or not value.isprintable():
        raise UsageError(
            "the key contains characters that are not valid in a header"
            if value
            else "the environment variable for the key is not set or empty",
            where=f"{option} {variable}",
            remedy=f"run export {variable}=… first, with printable ASCII only",
        )
    return Secret(value)
