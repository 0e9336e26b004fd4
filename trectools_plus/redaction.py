"""Remove passwords and signatures from URLs in reports, logs and messages."""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "***"

_URL = re.compile(
    r"\b([A-Za-z][A-Za-z0-9+.-]+)://((?:(?!\b[A-Za-z][A-Za-z0-9+.-]+://)[^\s\"'<>])+)"
)
_USER_IS_SECRET = ("http", "https", "ftp", "sftp", "ssh", "smb", "webdav", "webhdfs")
"""Protocols in which the part before ``@`` is a user; in others it can be a container."""

_PARAMETER = re.compile(r"(?<=[?&;#])([^=&;#\s\"'<>]+)=([^&;#\s\"'<>]+)")
_SECRET_NAME = re.compile(
    r"(?:^|[^a-z])(?:sig|signature|(?:api|access|auth|id|refresh)?token|secret|pass|password"
    r"|passwd|pwd|credentials?|auth|authorization|jwt|session|session-?id"
    r"|(?:api|access|account|app|auth|client|private|secret|shared|subscription)?key)\]?$"
)
_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def hide_secrets(text: str) -> str:
    """Replace the secrets in the URLs of a text by ``***``.

    Secrets are a user and password before ``@``, and the values of query parameters with names like
    ``X-Amz-Signature``, ``sig``, ``access_token`` or ``apiKey``.
    """
    return _URL.sub(_hide_in_url, text)


def has_secrets(text: str) -> bool:
    """Return true if :func:`hide_secrets` finds a secret in a text."""
    return hide_secrets(text) != text


def is_secret_name(name: str) -> bool:
    """Return true if the value of a query parameter with this name is treated as a secret."""
    return _SECRET_NAME.search(_CAMEL_CASE_BOUNDARY.sub("-", unquote(name)).lower()) is not None


def hide_queries(text: str) -> str:
    """Replace secrets like :func:`hide_secrets`, and the whole query string of each URL.

    Use it for messages of other libraries.
    """
    return _URL.sub(
        lambda url: re.sub(r"\?.*", f"?{HIDDEN}", _hide_in_url(url), flags=re.DOTALL), text
    )


def _hide_in_url(url: re.Match[str]) -> str:
    protocol, rest = url.groups()
    end = re.search(r"[?#]", rest)
    location, parameters = (rest[: end.start()], rest[end.start() :]) if end else (rest, "")
    location = _hide_user(protocol.lower(), location)
    return f"{protocol}://{location}{_PARAMETER.sub(_hide_value, parameters)}"


def _hide_user(protocol: str, location: str) -> str:
    """Hide the part before ``@``, even if a password contains a slash or another ``@``."""
    host, _, _ = location.partition("/")
    _, colon, port = host.rpartition(":")
    whole = "@" not in host and colon and port and not port.isdigit()
    user, at, after = (location if whole else host).rpartition("@")
    if not at or not (":" in user or protocol in _USER_IS_SECRET):
        return location
    return f"{HIDDEN}@{after}" + ("" if whole else location[len(host) :])


def _hide_value(parameter: re.Match[str]) -> str:
    name, value = parameter.groups()
    return f"{name}={HIDDEN if is_secret_name(name) else value}"
