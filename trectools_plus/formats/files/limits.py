"""Limits for reading files, and the search for lines that are too long.

Reading a damaged or malicious file must take limited time and memory. Therefore the length of a
line, the expansion of a compressed stream, the depth of nesting and the size of the content are
limited.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trectools_plus.errors import FormatError, UsageError

MAX_LINE_BYTES = 16 << 20
"""The greatest length of a line; reading stops before a longer one."""

MAX_EXPANSION = 200
"""The greatest expansion of a compressed stream beyond the first 256 MiB of content.

Runs, qrels and corpora expand three to thirty times.
"""

EXPANSION_FREE_BYTES = 256 << 20
"""The size of content in bytes up to which its expansion is not limited."""

MAX_DEPTH = 64
"""The greatest depth of nested lists and mappings in a JSON or YAML document."""

LIMIT_VARIABLE = "TRECTOOLS_PLUS_MAX_CONTENT_GIB"
"""Environment variable for the greatest size of a file's (decompressed) content in GiB."""


def max_content_bytes() -> int:
    """Return the greatest size of content that is read into memory, in bytes.

    It is the value of ``TRECTOOLS_PLUS_MAX_CONTENT_GIB``, or else an eighth of the memory that this
    process may use (tables take several times the size of the text), but at least 256 MiB.

    Raises:
        UsageError: If the variable is not a positive number.
    """
    setting = os.environ.get(LIMIT_VARIABLE)
    if not setting:
        return max(usable_memory() // 8, 256 << 20)
    try:
        limit = int(float(setting) * (1 << 30))
    except (ValueError, OverflowError):
        limit = 0
    if limit <= 0:
        raise UsageError(
            f"expected a positive number of GiB but got {setting!r}",
            where=LIMIT_VARIABLE,
            remedy=f"set it to a number, for example {LIMIT_VARIABLE}=16, or unset it",
        )
    return limit


def usable_memory() -> int:
    """Return the memory that this process may use in bytes: the machine's, or a lower limit."""
    amounts = [16 << 30]  # if it is unknown
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        amounts = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            amounts.append(int(Path("/sys/fs/cgroup", name).read_text()))
    return min(amounts)


HEAD_BYTES = 4096
"""The first bytes of a file, which show its format."""


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line of more than ``MAX_LINE_BYTES``, at which reading stopped.

    Attributes:
        line: Its number, from 1.
        head: Its first few thousand bytes, to recognise the kind of file.
    """

    line: int
    head: bytes = b""

    def as_error(self, path: str) -> FormatError:
        """Return the error for readers that need the whole file."""
        return FormatError(
            f"line of over {MAX_LINE_BYTES:,} bytes",
            path=path,
            line=self.line,
            remedy="check that this is the right file, with a line end after each entry",
        )


def find_overlong(data: bytes) -> int | None:
    """Return the start of the first line of more than ``MAX_LINE_BYTES``, if there is one.

    From the start of a line, search backwards from the greatest possible length for a line end. It
    is usually near, so only a small part of the data is searched.
    """
    start = 0
    while len(data) - start > MAX_LINE_BYTES:
        end = data.rfind(b"\n", start, start + MAX_LINE_BYTES + 1)
        if end < 0:
            return start
        start = end + 1
    return None
