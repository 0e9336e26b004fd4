"""Where something stands in a file: the text of a line, the column of a field."""

from __future__ import annotations

import re
from bisect import bisect_left

import numpy as np

from trectools_plus.formats.lexer import BOM

_BLANKS = " \t\v\f"
_FIELD = re.compile(r"[^ \t\v\f]+")
_LF = ord("\n")
_PIECE_BYTES = 1 << 18


class LineIndex:
    """Random access to the lines of a file; what it costs is a count of the line ends.

    Args:
        data: The content of the file.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._bytes = np.frombuffer(data, np.uint8)
        self._start = len(BOM) if data.startswith(BOM) else 0
        self._ends_before = [0]  # each piece's number of line ends in the pieces before it
        self._piece = -1
        self._ends = np.empty(0, np.int64)

    def text(self, line: int) -> str:
        """Text of a line (from 1) without its end; bytes that are not UTF-8 show as U+FFFD."""
        begin = self._end_of(line - 1) + 1 if line > 1 else self._start
        end = self._end_of(line)
        text = self._data[begin:end]
        # Without an LF behind it, a CR at the end of the file is part of the line.
        text = text.removesuffix(b"\r") if end < len(self._data) else text
        return text.decode("utf-8", "replace")

    def field(self, line: int, field: int) -> str:
        """Text of a field (from 1) of a line that has as many."""
        found: list[str] = _FIELD.findall(self.text(line))
        return found[field - 1]

    def _end_of(self, line: int) -> int:
        """Where a line's LF is; the end of the file where there is none."""
        while self._ends_before[-1] < line:
            begin = (len(self._ends_before) - 1) * _PIECE_BYTES
            if begin >= len(self._data):
                return len(self._data)
            piece = self._bytes[begin : begin + _PIECE_BYTES]
            self._ends_before.append(self._ends_before[-1] + int(np.count_nonzero(piece == _LF)))
        number = bisect_left(self._ends_before, line) - 1
        if number != self._piece:
            begin = number * _PIECE_BYTES
            self._piece = number
            self._ends = np.flatnonzero(self._bytes[begin : begin + _PIECE_BYTES] == _LF) + begin
        return int(self._ends[line - 1 - self._ends_before[number]])

    def column_of_field(self, line: int, field: int) -> int:
        """Character column, from 1, at which a field (from 1) of a line begins."""
        seen, before = 0, " "
        text = self.text(line)
        for column, character in enumerate(text, 1):
            if before in _BLANKS and character not in _BLANKS:
                seen += 1
                if seen == field:
                    return column
            before = character
        return max(1, len(text))

    def column_of_character(self, line: int, character: str) -> int | None:
        """Character column, from 1, of the first such character on a line."""
        return self.text(line).find(character) + 1 or None
