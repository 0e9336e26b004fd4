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
_USER = re.compile(r"^(?:[^/?#@:\[]*:(?!\d*(?:[/?#]|$))\S*|[^/?#]*)@")
"""The part before the host. A password can contain any sign, but a port only digits."""
_PARAMETER = re.compile(r"(?<=[?&;#])([^=&;#\s\"'<>]+)=([^&;#\s\"'<>]+)")
_SECRET_NAME = re.compile(
    # "code" alone is the key of a function on Azure, and of a login.
    r"(?:^(?:code|sign|userpass|key\d)|(?:^|[^a-z])(?:sig|signature|(?:api|access|auth|id|refresh)?token|secret|pass|password"
    r"|passphrase|passwd|pwd|pw|credentials?|auth|authorization|bearer|hmac|cookie|jwt|sas|session"
    r"|j?session-?id|(?:api|access|account|app|auth|client|private|secret|shared|subscription)?key))"
    r"[\]+ ]*$"
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

    The URL may be malformed, for example without a protocol, and encoded twice.
    """
    for _ in range(3):
        whole = re.sub(
            r"^(?!\w+://)(?:https?:)?[/\\]*", "http://", "".join(url.split()), flags=re.I
        )
        whole = whole.replace("?", "&").replace("&", "?", 1)  # also in the value of a parameter
        if hide_secrets(whole) != whole:
            return "a password, token or key"
        url = unquote(url)
    return None


def is_secret_name(name: str) -> bool:
    """Return true if the value of a query parameter with this name is treated as a secret."""
    words = _CAMEL_CASE_BOUNDARY.sub("-", unquote(name)).lower()
    return _SECRET_NAME.search(words) is not None


def _hide_in_url(url: re.Match[str]) -> str:
    protocol, rest = url.groups()
    user = _USER.match(rest)
    if user and (":" in user[0] or protocol.lower() in _USER_IS_SECRET):
        rest = f"{HIDDEN}@{rest[user.end() :]}"
    return f"{protocol}://{_PARAMETER.sub(_hide_value, rest)}"


def _hide_value(parameter: re.Match[str]) -> str:
    name, value = parameter.groups()
    return f"{name}={HIDDEN if is_secret_name(name) else value}"
