"""Format text for users: plurals, lists of ids, invisible characters, secrets, consoles."""

from __future__ import annotations

import re
import reprlib
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO
from urllib.parse import unquote

if TYPE_CHECKING:
    from rich.console import Console

MAX_WIDTH = 100
"""The greatest width of an output line in columns, unless a single word is longer."""

MAX_ID_LENGTH = 48
"""The greatest length of an id in a message; longer ids are cut."""

MAX_IDS_LISTED = 5
"""The number of ids that a message lists before "… (3 more)"."""


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, line separators, and signs that reverse the direction of text."""


class MinorNote(str):
    """A note on findings that change no figure; commands print it on a terminal or with ``-v``."""

    __slots__ = ()


def visible(text: str, longest: int = MAX_ID_LENGTH, *, marks: bool = False) -> str:
    r"""Return a text with invisible characters as escapes, cut if it is long.

    Args:
        text: An id or a field.
        longest: The greatest number of characters before the text is cut.
        marks: Also escape combining marks, which shows the difference between two ids that look
            the same but differ in their Unicode normal form.

    >>> visible("d\u00a002")
    'd\\xa002'
    """
    shown = "".join(
        sign
        if sign.isprintable() and not (marks and unicodedata.combining(sign))
        else sign.encode("unicode_escape").decode()
        for sign in text[: longest + 1]
    )
    return shown[: longest - 1] + "…" if len(text) > longest else shown


def printable(text: str, *, breaks: bool = False) -> str:
    """Return a text whose control characters are escapes, so that they cannot move the cursor.

    Args:
        text: A name or message.
        breaks: Keep line breaks and tabs.
    """
    if text.isprintable():
        return text
    kept = "\n\t" if breaks else ""
    return _CONTROL.sub(
        lambda sign: sign[0] if sign[0] in kept else sign[0].encode("unicode_escape").decode(), text
    )


def quoted(text: str) -> str:
    """Return :func:`visible` text in single quotes, for fields that are not ids."""
    return f"'{visible(text)}'"


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Return a count with its noun: ``1 row``, ``2 rows``, ``1,400 rows``."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def listed(ids: Sequence[str], limit: int = MAX_IDS_LISTED) -> str:
    """List the first ids (see :func:`visible`) and the number of the others."""
    shown = ", ".join(visible(text, 24) for text in ids[:limit])
    return f"{shown}, … ({len(ids) - limit:,} more)" if len(ids) > limit else shown


def join_names(names: Sequence[str], noun: str, most: int) -> str:
    """Return ``a``, ``a and b``, ``a, b and c``; of more than ``most`` names, ``12 modes``.

    Args:
        names: The names.
        noun: Their kind, in the plural.
        most: The greatest number of names that are listed.
    """
    if len(names) > most:
        return f"{len(names)} {noun}"
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def number(value: float) -> str:
    """Return the shortest text that reads back as exactly this number, without ``.0``."""
    value = float(value)  # NumPy's floats have a different repr
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)


def one_line(text: str) -> str:
    """Replace line breaks by spaces."""
    return " ".join(text.split("\n"))


def sentences(*parts: str) -> str:
    """Join sentences, adding a full stop to those without final punctuation."""
    return " ".join(part if part.endswith(("?", ".", "!")) else f"{part}." for part in parts)


_WHOLE = r"""\((?:'[^']*'|"[^"]*"|[^()'"])*\)|'[^']*'|"[^"]*\""""
_PARTS = re.compile(rf"(?:{_WHOLE}|[^,])+")
_WORDS = re.compile(rf"(?:{_WHOLE}|[^,\s]|\s(?![^\W\d_]))+")


def split_list(text: str, *, at_spaces: bool = False) -> list[str]:
    """Split at commas outside parentheses and quotes: ``AP(rel=2)@100,RBP(p=0.8,rel=1)``.

    Empty parts and spaces around parts are removed.

    Args:
        text: The list.
        at_spaces: Also split at white space before a letter: ``nDCG@10 AP``, but not ``nDCG @10``.
    """
    parts = (_WORDS if at_spaces else _PARTS).findall(text)
    return [part.strip() for part in parts if part.strip()]


def make_console(stream: TextIO, width: int | None = None) -> Console:
    """Return a console of at most :data:`MAX_WIDTH` columns that does not interpret markup.

    Args:
        stream: The output; colours and bold are used if it is a terminal.
        width: The width in columns. The default is the width of the terminal, at most
            :data:`MAX_WIDTH`, or :data:`MAX_WIDTH` if the stream is not a terminal.
    """
    from rich.console import Console

    console = Console(file=stream, highlight=False, markup=False, emoji=False, width=width)
    if width is None:  # without a terminal, Rich would use 80 columns or COLUMNS
        console.width = min(console.width, MAX_WIDTH) if console.is_terminal else MAX_WIDTH
    return console


MAX_TEXT_LENGTH = 100
"""The greatest length of a text that :func:`shortened` does not cut."""


def shortened(text: str) -> str:
    """Return a text, cut if it is too long for a message; characters are not escaped."""
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 1]}…"


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


def show(value: object) -> str:
    """Return a value on one short line, whatever it is."""
    try:
        return shortened(one_line(_SHORT.repr(value)))
    except Exception:  # repr of any object, and of integers with many digits
        return type(value).__name__


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
