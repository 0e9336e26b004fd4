"""Lines too long for any use, found without reading what lies between line ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trectools_plus.errors import FormatError
from trectools_plus.formats import limits

HEAD_BYTES = 4096
_STEP_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line of more than ``limits.MAX_LINE_BYTES``, at which reading stopped.

    Attributes:
        line: Its number, from 1.
        head: Its first few thousand bytes, to tell what it is.
    """

    line: int
    head: bytes = b""

    @property
    def what(self) -> str:
        """What is wrong with it."""
        return f"line of over {limits.MAX_LINE_BYTES:,} bytes"

    def as_error(self, path: str) -> FormatError:
        """For readers that cannot do with a part of the file."""
        return FormatError(
            self.what,
            path=path,
            line=self.line,
            remedy="is this the right file, with a line end after each entry?",
        )


def find_overlong(read_at: Callable[[int, int], bytes], size: int) -> int | None:
    """Find where the first line of more than ``limits.MAX_LINE_BYTES`` begins.

    From the start of a line, the last line end within the greatest length is looked for, backwards
    from there: it is a line's length away, so that hardly anything is looked at.

    Args:
        read_at: Gives the bytes from one place to another.
        size: How many bytes there are.

    Returns:
        Its place; ``None`` if there is no such line.
    """
    line_start = 0
    while size - line_start > limits.MAX_LINE_BYTES:
        end = _last_line_end(read_at, line_start, line_start + limits.MAX_LINE_BYTES + 1)
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
