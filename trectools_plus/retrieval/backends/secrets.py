"""Keys of services: read from the environment, and never written to a file or message."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import quote

from trectools_plus.errors import UsageError

HIDDEN = "***"
_MIN_LENGTH = 8
_SHOWN = 4
"""The number of characters of a masked secret that identify it."""
_MASK = re.compile(r"[*•●∙·…]+|\.{2,}|[xX]{3,}|_{3,}|#{3,}")


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret, which ``repr`` does not show.

    Attributes:
        value: The secret.
    """

    value: str = field(repr=False)

    def is_in(self, text: str) -> bool:
        """Return whether a text contains the secret; False for a secret of fewer than 8 characters.

        A shorter secret could match by chance.
        """
        return len(self.value) >= _MIN_LENGTH and self.scrub(text) != text

    def scrub(self, text: str) -> str:
        """Replace the secret in a text by ``***``.

        It may be escaped for JSON or for a URL, or some of its characters may be masked.
        """
        for spelling in _spellings(self.value):
            text = text.replace(spelling, HIDDEN)
        return _hide_masked(text, self.value) if len(self.value) >= _MIN_LENGTH else text


def _hide_masked(text: str, secret: str) -> str:
    """Hide the start and the end of the secret around a mask like ``…`` or ``****``."""
    starts = [secret[:size] for size in range(len(secret) - 1, 0, -1)]
    ends = [secret[-size:] for size in range(len(secret) - 1, 0, -1)]
    parts, place = [], 0
    for mask in _MASK.finditer(text):
        before, after = text[mask.start() - 1 : mask.start()], text[mask.end() : mask.end() + 1]
        start = next(
            (
                len(one)
                for one in starts
                if one[-1] == before and text.endswith(one, 0, mask.start())
            ),
            0,
        )
        end = next(
            (len(one) for one in ends if one[0] == after and text.startswith(one, mask.end())), 0
        )
        if start + end >= _SHOWN:
            parts += [text[place : max(place, mask.start() - start)], HIDDEN]
            place = mask.end() + end
    return "".join([*parts, text[place:]])


@cache
def _spellings(secret: str) -> list[str]:
    """Return the plain and escaped forms; the longest first, because it may contain another."""
    spellings = {secret, json.dumps(secret)[1:-1], quote(secret, safe="")}
    return sorted(spellings, key=len, reverse=True)


def read_key(variable: str, option: str = "key_env") -> Secret:
    """Read the key from an environment variable.

    Args:
        variable: The variable.
        option: The setting or option that names it, for messages.

    Raises:
        UsageError: If the variable is not set or empty, or its value is not valid in a header.
    """
    value = os.environ.get(variable, "").strip()
    if not value:
        raise UsageError(
            "the environment variable for the key is not set or empty",
            where=f"{option} {variable}",
            remedy=f"run export {variable}=… first",
        )
    if not value.isascii() or not value.isprintable():
        raise UsageError(
            "the key contains characters that are not valid in a header",
            where=f"{option} {variable}",
            remedy="use printable ASCII only",
        )
    return Secret(value)
