"""Recognise files that are not text by their first bytes."""

from __future__ import annotations

from dataclasses import dataclass

from trectools_plus.errors import FormatError
from trectools_plus.formats.files.limits import HEAD_BYTES

_DECOMPRESS = "decompress it with {}, or compress it with gzip, bzip2, xz or zstandard instead"
_EXPORT = "save the table as CSV"
_UNPACK = "unpack it, and name a file in it"
_CONVERT = "export the rows as CSV or as TREC columns"
_NO_DATA = "name a file with columns of text"


@dataclass(frozen=True, slots=True)
class BinaryFormat:
    """A format that is not text.

    Attributes:
        name: Its name, with its article.
        remedy: The way to a file that can be read.
    """

    name: str
    remedy: str


PARQUET = BinaryFormat(
    "a Parquet file",
    "convert a run with `runs convert`, qrels with `qrels convert`, and other tables to CSV",
)
_ZIP = BinaryFormat("a zip archive", _UNPACK)
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_IN_ZIP = {
    b"xl/": BinaryFormat("an Excel workbook (xlsx)", _EXPORT),
    b"word/": BinaryFormat("a Word document (docx)", _EXPORT),
    b"opendocument.spreadsheet": BinaryFormat("an OpenDocument spreadsheet (ods)", _EXPORT),
    b".npy": BinaryFormat("a NumPy archive (npz)", _CONVERT),
}
"""Kinds of zip archives, by the name of a file in them."""

_FORMATS: dict[bytes, BinaryFormat] = {
    b"PAR1": PARQUET,
    b"\x04\x22\x4d\x18": BinaryFormat("an lz4 file", _DECOMPRESS.format("`lz4 -d`")),
    b"\x02\x21\x4c\x18": BinaryFormat("an lz4 file", _DECOMPRESS.format("`lz4 -d`")),
    b"\x1f\x9d": BinaryFormat("a compress (.Z) file", _DECOMPRESS.format("`uncompress`")),
    b"\xff\x06\x00\x00sNaPpY": BinaryFormat("a Snappy file", _DECOMPRESS.format("`snzip -d`")),
    b"LZIP\x01": BinaryFormat("an lzip file", _DECOMPRESS.format("`lzip -d`")),
    b"\x5d\x00\x00\x80\x00": BinaryFormat("an lzma file", _DECOMPRESS.format("`unlzma`")),
    b"7z\xbc\xaf\x27\x1c": BinaryFormat("a 7z archive", _UNPACK),
    b"Rar!\x1a\x07": BinaryFormat("a RAR archive", _UNPACK),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": BinaryFormat("an old Excel or Word file", _EXPORT),
    b"SQLite format 3\x00": BinaryFormat("an SQLite database", _CONVERT),
    b"ARROW1\x00\x00": BinaryFormat("an Arrow (Feather) file", _CONVERT),
    b"FEA1\x00": BinaryFormat("a Feather file", _CONVERT),
    b"Obj\x01": BinaryFormat("an Avro file", _CONVERT),
    b"ORC\x08": BinaryFormat("an ORC file", _CONVERT),
    b"ORC\x0a": BinaryFormat("an ORC file", _CONVERT),
    b"\x89HDF\r\n\x1a\n": BinaryFormat("an HDF5 file", _CONVERT),
    b"\x93NUMPY": BinaryFormat("a NumPy array", _CONVERT),
    **{
        b"\x80" + bytes((protocol,)): BinaryFormat("a Python pickle", _CONVERT)
        for protocol in range(2, 6)
    },
    b"\x89PNG\r\n\x1a\n": BinaryFormat("a PNG image", _NO_DATA),
    b"\xff\xd8\xff": BinaryFormat("a JPEG image", _NO_DATA),
    b"GIF87a": BinaryFormat("a GIF image", _NO_DATA),
    b"GIF89a": BinaryFormat("a GIF image", _NO_DATA),
    b"II*\x00": BinaryFormat("a TIFF image", _NO_DATA),
    b"MM\x00*": BinaryFormat("a TIFF image", _NO_DATA),
    b"%PDF-": BinaryFormat("a PDF document", _NO_DATA),
    b"\x7fELF": BinaryFormat("a program", _NO_DATA),
}
_TAR = BinaryFormat("a tar archive", _UNPACK)
_TAR_MARK = slice(257, 262)
_WEBP = BinaryFormat("a WebP image", _NO_DATA)


class BinaryFileError(FormatError):
    """A file is not text."""

    def __init__(self, found: BinaryFormat, path: str) -> None:
        self.found = found
        super().__init__(f"this is {found.name}, not text", path=path, remedy=found.remedy)


def find_binary(head: bytes) -> BinaryFormat | None:
    """Return the format of a file that is not text; ``None`` for text and unknown bytes.

    Args:
        head: The first ``HEAD_BYTES``, decompressed.
    """
    if head.startswith(_ZIP_STARTS):
        head = head[:HEAD_BYTES]
        return next((found for name, found in _IN_ZIP.items() if name in head), _ZIP)
    for start, found in _FORMATS.items():
        if head.startswith(start):
            return found
    if head[_TAR_MARK] == b"ustar":
        return _TAR
    return _WEBP if head.startswith(b"RIFF") and head[8:12] == b"WEBP" else None


def refuse_binary(head: bytes, path: str) -> None:
    """Refuse a file that is not text.

    Args:
        head: The first ``HEAD_BYTES``, decompressed.
        path: The file, for the message.

    Raises:
        BinaryFileError: If it has a known format that is not text.
    """
    if (found := find_binary(head)) is not None:
        raise BinaryFileError(found, path)
