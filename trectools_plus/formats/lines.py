"""Lines of text out of lines of bytes, with the place of what is no text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trectools_plus.errors import FormatError


def decode_lines(lines: Iterable[bytes], path: str) -> Iterator[tuple[int, str]]:
    """Decode lines of UTF-8, leaving out a byte order mark, CRs at line ends and blank lines.

    Args:
        lines: Lines without their LF.
        path: The file, for messages.

    Yields:
        The line's number, from 1, and its text.

    Raises:
        FormatError: With line and column, if a line is not UTF-8 or holds a NUL.
    """
    for number, line in enumerate(lines, 1):
        text = decode_text(line, path, number)
        if number == 1:
            text = text.removeprefix("\ufeff")
        text = text.removesuffix("\r")
        if text.strip(" \t"):
            yield number, text


def decode_text(data: bytes, path: str, first_line: int = 1) -> str:
    """Decode UTF-8 text of one or more lines, of which the first has number ``first_line``.

    Raises:
        FormatError: With line and column, if it is not UTF-8 or holds a NUL.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        byte = data[error.start]
        raise _bad(f"byte 0x{byte:02X} is not UTF-8", data, error.start, path, first_line) from None
    if "\0" in text:
        raise _bad("NUL byte", data, data.index(b"\0"), path, first_line)
    return text


def _bad(what: str, data: bytes, offset: int, path: str, first_line: int) -> FormatError:
    line_start = data.rfind(b"\n", 0, offset) + 1
    return FormatError(
        what,
        path=path,
        line=first_line + data.count(b"\n", 0, offset),
        column=len(data[line_start:offset].decode("utf-8", "replace")) + 1,
        remedy="save the file as UTF-8",
    )
