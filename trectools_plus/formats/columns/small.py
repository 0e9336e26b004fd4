"""Split small, regular files into columns without NumPy and Polars, which take longer to import."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trectools_plus.formats.files.compression import SUFFIXES
from trectools_plus.formats.files.remote import is_address, is_catalogue_name
from trectools_plus.formats.interchange.names import Fields, find_fields

MAX_BYTES = 1_200_000
"""Larger files are read faster with NumPy, even though importing it takes long."""
_LONGEST_LINE = 64_000
_NUMBERS = frozenset("0123456789+-.eE")


@dataclass(frozen=True, slots=True)
class SmallTable:
    """The columns of a small file in which every line is a row of ASCII text.

    Attributes:
        columns: The fields of all rows, column by column.
        ends_normally: Whether every line ends in LF alone, also the last one.
    """

    columns: list[list[str]]
    ends_normally: bool


def read_small_table(path: str, n_fields: int, names: Fields) -> SmallTable | None:
    """Read a small file.

    Args:
        path: The file.
        n_fields: The number of fields of a row.
        names: The names of columns, to recognise a header.

    Returns:
        ``None`` for a larger file, for anything but a regular file in ASCII, or if the lines are
        not all rows with one blank or tab between two fields.
    """
    data = _read_small_file(path)
    if not data or not data.isascii():
        return None
    text = data.decode("ascii")
    ends_normally = text.endswith("\n") and "\r" not in text
    if not text.endswith("\n"):
        text += "\n"
        if text.endswith("\r\n"):
            return None
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    # Comments, JSON, XML or compressed data may follow.
    if text.startswith(("#", "[", "{", "<", "BZh")) or "\n#" in text:
        return None
    first = text[: text.index("\n")]
    separator = "\t" if "\t" in first else " "
    words = text.split()
    if len(words) % n_fields or not words:
        return None
    rows = zip(*[iter(words)] * n_fields, strict=True)
    if "\n".join(map(separator.join, rows)) + "\n" != text or not "".join(words).isprintable():
        return None
    if len(text) > _LONGEST_LINE and max(map(len, text.split("\n"))) > _LONGEST_LINE:
        return None
    if len(find_fields(first.split(), names)) > 1:
        return None
    return SmallTable([words[at::n_fields] for at in range(n_fields)], ends_normally)


def _read_small_file(path: str) -> bytes | None:
    """Read a small regular file that is not compressed by its name; ``None`` for any other."""
    if is_address(path) or is_catalogue_name(path) or path.lower().endswith(tuple(SUFFIXES)):
        return None
    try:
        file = Path(path)
        if path == "-" or not file.is_file() or file.stat().st_size > MAX_BYTES:
            return None
        return file.read_bytes()
    except (OSError, ValueError):
        return None


def parse_scores(texts: list[str]) -> list[float] | None:
    """Parse decimal numbers; ``None`` if one is infinite, ``-0``, or becomes 0 without being 0."""
    if not _NUMBERS.issuperset("".join(texts)):
        return None
    try:
        scores = list(map(float, texts))
    except ValueError:
        return None
    for text, score in zip(texts, scores, strict=True):
        if score == 0 or score - score != 0:
            mantissa = text.lower().partition("e")[0]
            if score != 0 or mantissa.startswith("-") or mantissa.strip("+0."):
                return None
    return scores


def parse_whole_numbers(texts: list[str], n_digits: int) -> list[int] | None:
    """Parse whole numbers without a sign; ``None`` if a text is not one, or is longer."""
    if not "".join(texts).isdigit() or max(map(len, texts)) > n_digits:
        return None
    return list(map(int, texts))
