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
_NAME = re.compile(r"(?<=[?&;#<>\"'])([^=&;#?<>\"']+)=")
"""A name anywhere after the location, also in a value that contains parameters."""
_DECODINGS = 3
"""A URL is checked as it is, and decoded once and twice."""
_SECRET_NAME = re.compile(
    # "code" alone is the key of a function on Azure, and of a login.
    r"(?:^(?:code|sign|userpass|key\d)|(?:^|[^a-z])(?:sig|signature|(?:api|access|auth|id|refresh)?token|secret|pass|password"
    r"|passphrase|passwd|pwd|pw|credentials?|auth|authorization|bearer|hmac|cookie|jwt|sas|session"
    r"|j?session-?id|(?:api|access|account|app|auth|client|private|secret|shared|subscription)?key))"
    r"\]?$"
)
_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def hide_secrets(text: str) -> str:
    """Replace the secrets in the URLs of a text by ``***``.

    Secrets are a user and password before ``@``, and the values of query parameters with names like
    ``X-Amz-Signature``, ``sig``, ``access_token`` or ``apiKey``.
    """
    return _URL.sub(_hide_in_url, text)


def secret_in_url(url: str) -> str | None:
    """Describe the secret in a URL, for a message that refuses it; ``None`` if there is none.

    The URL may be malformed, for example without a protocol. The description does not contain any
    part of the secret: "a user or password", or "a parameter like 'sig'".
    """
    found = None
    for _ in range(_DECODINGS):
        found = found or _secret_in_decoded(url)
        url = unquote(url)
    return found


def _secret_in_decoded(url: str) -> str | None:
    protocol, separator, rest = url.strip().partition("://")
    if not separator:
        protocol, rest = "http", re.sub(r"^(?:https?:)?[/\\]*", "", url.strip(), flags=re.I)
    if "://" in rest and hide_secrets(rest) != rest:  # an address in an address
        protocol, rest = next(
            found.groups() for found in _URL.finditer(rest) if _hide_in_url(found) != found[0]
        )
    location, _ = _split(rest)
    if _hide_user(protocol.lower(), location) != location:
        return "a user or password"
    known = (_SECRET_NAME.search(_as_words(found[1].strip(" +"))) for found in _NAME.finditer(rest))
    return next((f"a parameter like '{found[0].strip('-_[]')}'" for found in known if found), None)


def is_secret_name(name: str) -> bool:
    """Return true if the value of a query parameter with this name is treated as a secret."""
    return _SECRET_NAME.search(_as_words(unquote(name))) is not None


def hide_queries(text: str) -> str:
    """Replace secrets like :func:`hide_secrets`, and the whole query string of each URL.

    Use it for messages of other libraries.
    """
    return _URL.sub(
        lambda url: re.sub(r"\?.*", f"?{HIDDEN}", _hide_in_url(url), flags=re.DOTALL), text
    )


def _as_words(name: str) -> str:
    return _CAMEL_CASE_BOUNDARY.sub("-", name).lower()


def _hide_in_url(url: re.Match[str]) -> str:
    protocol, rest = url.groups()
    location, parameters = _split(rest)
    location = _hide_user(protocol.lower(), location)
    return f"{protocol}://{location}{_PARAMETER.sub(_hide_value, parameters)}"


def _split(rest: str) -> tuple[str, str]:
    """Split a URL without its protocol before the query or fragment.

    A part before ``@`` that can be a password is not split.
    """
    end = re.search(r"[?#]", rest)
    if end is not None and _has_odd_port(rest[: end.start()]):
        end = re.compile(r"[?#]").search(rest, max(rest.rfind("@"), end.start()))
    return (rest[: end.start()], rest[end.start() :]) if end else (rest, "")


def _has_odd_port(location: str) -> bool:
    """Return true if the text after the colon of a host can be a password, but no port."""
    host, _, _ = location.partition("/")
    _, colon, port = host.rpartition("]")[2].rpartition(":")
    return "@" not in host and bool(colon and port) and not port.isdigit()


def _hide_user(protocol: str, location: str) -> str:
    """Hide the part before ``@``, even if a password contains a slash or another ``@``."""
    host, _, _ = location.partition("/")
    whole = _has_odd_port(location)
    user, at, after = (location if whole else host).rpartition("@")
    if not at or not (":" in user or protocol in _USER_IS_SECRET):
        return location
    return f"{HIDDEN}@{after}" + ("" if whole else location[len(host) :])


def _hide_value(parameter: re.Match[str]) -> str:
    name, value = parameter.groups()
    return f"{name}={HIDDEN if is_secret_name(name) else value}"
