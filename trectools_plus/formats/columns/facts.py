"""What is known of a column file as a whole: its line ends, encoding, spacing."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

LONG_LINE_BYTES = 64 * 1024
"""Lines above this are noted as long."""

_GUESS_FROM_BYTES = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Occurrences:
    """How often something occurs, and on which lines.

    Attributes:
        count: All occurrences, several on one line counted each.
        lines: The lines they are on, the file's own numbers from 1, ascending, each once (uint32).
    """

    count: int = 0
    lines: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))

    def __bool__(self) -> bool:
        return self.count > 0

    @property
    def first(self) -> int | None:
        """The first line, or ``None`` where there is none."""
        return int(self.lines[0]) if len(self.lines) else None


@dataclass(frozen=True, slots=True)
class BadByte:
    """The first byte that is not UTF-8.

    Attributes:
        offset: Its place in the (decompressed) data, from 0.
        line: Its line, from 1.
        column: Its character column, from 1.
        value: The byte, 0 to 255.
    """

    offset: int
    line: int
    column: int
    value: int


@dataclass(frozen=True, slots=True, eq=False)
class FileFacts:
    """Facts about a whole file; every count is 0 and every list empty in a tidy one.

    Attributes:
        has_bom: It starts with the UTF-8 byte order mark (which is then part of no field).
        n_lines: Lines, a last one without LF included.
        n_lf: Lines that end in LF alone.
        n_crlf: Lines that end in CR LF.
        final_newline: The last byte is LF; also true of a file without any byte.
        bare_cr: CRs that no LF follows.
        nul: Bytes of value 0.
        bad_utf8: The first byte that is not UTF-8, if any.
        encoding_guess: What the bytes might be instead: ``"utf-16"``, ``"utf-32"`` (also when
            ASCII in UTF-16 happens to be valid UTF-8 with NULs) or ``"latin-1"``.
        blank_lines: Lines of nothing but blanks.
        loose_rows: Rows with leading, trailing or repeated blanks.
        spaced_rows: Rows with a space between fields.
        tabbed_rows: Rows with a tab between fields; a file with both kinds mixes blanks.
        form_feed_lines: Lines, not comments, with a form feed or vertical tab; like trec_eval,
            the lexer splits there.
        long_lines: Lines of more than ``LONG_LINE_BYTES`` bytes, the one that reading stopped at
            included.
        longest_line: Bytes of the longest line among ``long_lines``, 0 if there is none. Of a line
            that reading stopped at, it is only known to have at least so many.
        longest_line_at: The number of that line, from 1; ``None`` if there is none.
        stopped_at: The line that reading stopped at, for it has more than
            ``limits.MAX_LINE_BYTES``: neither it nor anything behind it was read. ``None`` when all
            was read.
        is_ascii: There is no byte above 0x7F.
        has_controls: Some line has a byte from 1 to 31 that is no blank, CR or LF.
    """

    has_bom: bool
    n_lines: int
    n_lf: int
    n_crlf: int
    final_newline: bool
    bare_cr: Occurrences
    nul: Occurrences
    bad_utf8: BadByte | None
    encoding_guess: str | None
    blank_lines: Occurrences
    loose_rows: Occurrences
    spaced_rows: int
    tabbed_rows: int
    form_feed_lines: Occurrences
    long_lines: Occurrences
    longest_line: int
    longest_line_at: int | None = None
    stopped_at: int | None = None
    is_ascii: bool = False
    has_controls: bool = True


def guess_encoding(data: bytes, bad_utf8: bool) -> str | None:
    """Guess what bytes are that are not UTF-8, from a byte order mark or the pattern of NULs.

    Returns:
        ``None`` for UTF-8; else a name that Python and iconv know: ``latin-1``, ``utf-16`` or
        ``utf-32``, and where no mark tells the order of the bytes, ``utf-16le`` and so on.
    """
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    start = data[:_GUESS_FROM_BYTES]
    tenths = start.count(0) * 10 // len(start) if len(start) >= 8 else 0
    if 4 <= tenths <= 7:  # of a wider text's bytes half or three quarters are 0, never nearly all
        width, name = (4, "utf-32") if tenths == 7 else (2, "utf-16")
        # The high bytes of ASCII characters are 0: the first ones, or the last ones.
        first, last = start[::width].count(0), start[width - 1 :: width].count(0)
        return name + ("be" if first > last else "le")
    return "latin-1" if bad_utf8 else None
