"""How much a reader takes in before it refuses: sizes beyond which no input is what it should be.

A damaged or hostile file must cost bounded time and memory. Three things are bounded: the length
of a line, how far a compressed stream may expand, and how much is held at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trectools_plus.errors import FormatError, UsageError

MAX_LINE_BYTES = 16 << 20
"""Reading stops at a line above this."""

MAX_EXPANSION = 200
"""How many times its size a compressed stream may expand to, beyond the first 256 MiB.

Runs, qrels and corpora expand three to thirty times.
"""

EXPANSION_FREE_BYTES = 256 << 20
"""Content up to this may be compressed as well as it likes."""

MAX_DEPTH = 64
"""How many lists and mappings of a JSON or YAML document may be inside each other."""

LIMIT_VARIABLE = "TRECTOOLS_PLUS_MAX_CONTENT_GIB"
"""Environment variable that sets how many GiB of (decompressed) content one file may have."""

_LEAST_BYTES = 256 << 20
_SHARE_OF_MEMORY = 8
_MEMORY_IF_UNKNOWN = 16 << 30
_CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def max_content_bytes() -> int:
    """How much content of one file is read into memory.

    An eighth of the memory that this process may use (tables take several times the size of the
    text), at least 256 MiB; or what ``TRECTOOLS_PLUS_MAX_CONTENT_GIB`` says.

    Raises:
        UsageError: If the variable holds no positive number.
    """
    asked = os.environ.get(LIMIT_VARIABLE)
    if not asked:
        return max(_usable_memory() // _SHARE_OF_MEMORY, _LEAST_BYTES)
    try:
        limit = int(float(asked) * (1 << 30))
    except (ValueError, OverflowError):
        limit = 0
    if limit <= 0:
        raise UsageError(
            f"expected a positive number of GiB but got {asked!r}",
            where=LIMIT_VARIABLE,
            remedy=f"set it like {LIMIT_VARIABLE}=16, or not at all",
        )
    return limit


def _usable_memory() -> int:
    """Bytes of memory this process may use: the machine's, or less where something limits it."""
    found = [_MEMORY_IF_UNKNOWN]
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):
            found.append(int(file.read_text()))
    with suppress(ImportError, ValueError, OSError):  # Windows has no such module
        import resource

        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            soft, _ = resource.getrlimit(kind)
            if soft != resource.RLIM_INFINITY:
                found.append(soft)
    return min(found)


HEAD_BYTES = 4096
_STEP_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line of more than ``MAX_LINE_BYTES``, at which reading stopped.

    Attributes:
        line: Its number, from 1.
        head: Its first few thousand bytes, to tell what it is.
    """

    line: int
    head: bytes = b""

    @property
    def what(self) -> str:
        """What is wrong with it."""
        return f"line of over {MAX_LINE_BYTES:,} bytes"

    def as_error(self, path: str) -> FormatError:
        """For readers that cannot do with a part of the file."""
        return FormatError(
            self.what,
            path=path,
            line=self.line,
            remedy="is this the right file, with a line end after each entry?",
        )


def find_overlong(read_at: Callable[[int, int], bytes], size: int) -> int | None:
    """Find where the first line of more than ``MAX_LINE_BYTES`` begins.

    From the start of a line, the last line end within the greatest length is looked for, backwards
    from there: it is a line's length away, so that hardly anything is looked at.

    Args:
        read_at: Gives the bytes from one place to another.
        size: How many bytes there are.

    Returns:
        Its place; ``None`` if there is no such line.
    """
    line_start = 0
    while size - line_start > MAX_LINE_BYTES:
        end = _last_line_end(read_at, line_start, line_start + MAX_LINE_BYTES + 1)
        if end is None:
            return line_start
        line_start = end + 1
    return None


def _last_line_end(read_at: Callable[[int, int], bytes], begin: int, end: int) -> int | None:
    while end > begin:
        step = max(begin, end - _STEP_BYTES)
        at = read_at(step, end).rfind(b"\n")
        if at >= 0:
            return step + at
        end = step
    return None
