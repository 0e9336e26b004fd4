"""Who may ask: whoever bears the key, or, where there is none, this machine alone."""

from __future__ import annotations

import hmac
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import urlsplit

KEY_REMEDY = (
    "send the header 'Authorization: Bearer KEY'; KEY is what the server's environment variable "
    "holds that its option --key-from-env names"
)


class Key:
    """The key that requests bear.

    Args:
        key: Its text.
    """

    def __init__(self, key: str) -> None:
        self._digest = _digest(key.encode())

    def is_in(self, authorization: str) -> bool:
        """Whether an ``Authorization`` header holds it."""
        scheme, _, given = authorization.partition(" ")
        # Digests have one length, so that the time tells nothing, not even how long the key is.
        found = _digest(given.strip().encode("latin-1", "replace"))
        return hmac.compare_digest(found, self._digest) and scheme.lower() == "bearer"


def is_this_machine(host: str) -> bool:
    """Whether a ``Host`` header names loopback: by ``localhost``, or by any of its addresses.

    Any other name may be somebody else's who has it lead here (DNS rebinding).
    """
    name = host_name(host)
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def host_name(host: str) -> str:
    """The name in a ``Host`` header, in lower case and without the port; empty if it is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _digest(key: bytes) -> bytes:
    return sha256(key).digest()
