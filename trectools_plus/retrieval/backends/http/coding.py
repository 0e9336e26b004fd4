"""The content coding of an answer, unpacked within a limit."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

ACCEPTED = "gzip, deflate"
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_STEP = 1 << 16


class CodingError(ValueError):
    """An answer with another coding, with several, or with damaged data."""


def unpacked(chunks: Iterable[bytes], coding: str | None) -> Iterator[bytes]:
    """Yield the content in parts of at most 64 KiB.

    Args:
        chunks: The body as it was sent.
        coding: The header ``Content-Encoding``.

    Raises:
        CodingError: If the content cannot be unpacked.
    """
    names = [name.strip().lower() for name in (coding or "").split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if not names:
        return iter(chunks)
    if len(names) > 1 or names[0] not in ("gzip", "x-gzip", "deflate"):
        raise CodingError(f"the content coding is {', '.join(names)[:100]}, not {ACCEPTED}")
    return _inflated(chunks)


def _inflated(chunks: Iterable[bytes]) -> Iterator[bytes]:
    decoder, is_first = zlib.decompressobj(_GZIP_OR_ZLIB), True
    for chunk in chunks:
        left = chunk
        while left:
            if decoder.eof:  # gzip can have several parts
                decoder = zlib.decompressobj(_GZIP_OR_ZLIB)
            try:
                part = decoder.decompress(left, _STEP)
            except zlib.error as error:
                if not is_first:
                    raise CodingError(f"the compressed content is damaged ({error})") from error
                decoder, is_first = zlib.decompressobj(-zlib.MAX_WBITS), False
                continue  # some services send deflate without the header of zlib
            is_first = False
            left = decoder.unconsumed_tail or decoder.unused_data
            yield part
    if not decoder.eof:
        raise CodingError("the compressed content is incomplete")
