"""Recognise files that are not text by their first bytes."""

from __future__ import annotations

from trectools_plus.errors import FormatError
from trectools_plus.formats.files.limits import HEAD_BYTES

PARQUET = "a Parquet file"
_IN_ZIP = {
    b"xl/": "an Excel workbook (xlsx)",
    b"word/": "a Word document (docx)",
    b"opendocument.spreadsheet": "an OpenDocument spreadsheet (ods)",
    b".npy": "a NumPy archive (npz)",
    b"": "a zip archive",
}
"""Kinds of zip archives, by the name of a file in them."""
_STARTS = {
    b"PAR1": PARQUET,
    b"\x04\x22\x4d\x18": "an lz4 file",
    b"\x02\x21\x4c\x18": "an lz4 file",
    b"\x1f\x9d": "a compress (.Z) file",
    b"\xff\x06\x00\x00sNaPpY": "a Snappy file",
    b"LZIP\x01": "an lzip file",
    b"\x5d\x00\x00\x80\x00": "an lzma file",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Excel or Word file",
    b"SQLite format 3\x00": "an SQLite database",
    b"ARROW1\x00\x00": "an Arrow (Feather) file",
    b"FEA1\x00": "a Feather file",
    b"Obj\x01": "an Avro file",
    b"ORC\x08": "an ORC file",
    b"ORC\x0a": "an ORC file",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    b"\x93NUMPY": "a NumPy array",
    **{b"\x80" + bytes((protocol,)): "a Python pickle" for protocol in range(2, 6)},
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF-": "a PDF document",
    b"\x7fELF": "a program",
}


class BinaryFileError(FormatError):
    """A file is not text."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__(
            f"this is {name}, not text",
            path=path,
            remedy="unpack or decompress it, or export the rows as CSV or as TREC columns",
        )


def find_binary(head: bytes) -> str | None:
    """Return the format of a file that is not text; ``None`` for text and unknown bytes.

    Args:
        head: The first ``HEAD_BYTES``, decompressed.
    """
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return next(name for mark, name in _IN_ZIP.items() if mark in head[:HEAD_BYTES])
    if head[257:262] == b"ustar":
        return "a tar archive"
    return next((name for start, name in _STARTS.items() if head.startswith(start)), None)
