"""Where something stands in a file: the text of a line, the column of a field."""

from __future__ import annotations

import numpy as np

from trectools_plus.formats.lexer import BOM

_BLANKS = " \t\v\f"


class LineIndex:
    """Random access to the lines of a file; built when the first finding needs a column.

    Args:
        data: The content of the file.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._start = len(BOM) if data.startswith(BOM) else 0
        self._ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))

    def text(self, line: int) -> str:
        """Text of a line (from 1) without its end; bytes that are not UTF-8 show as U+FFFD."""
        begin = int(self._ends[line - 2]) + 1 if line > 1 else self._start
        end = int(self._ends[line - 1]) if line <= len(self._ends) else len(self._data)
        return self._data[begin:end].removesuffix(b"\r").decode("utf-8", "replace")

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
