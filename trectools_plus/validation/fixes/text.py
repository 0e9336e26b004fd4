"""Fixes of a file's bytes, before anything is known of its columns: encoding and line ends."""

from __future__ import annotations

import codecs

from trectools_plus.errors import UsageError
from trectools_plus.formats.facts import guess_encoding
from trectools_plus.formats.lexer import BOM
from trectools_plus.validation.fixes.job import Job


def mend_bytes(data: bytes, job: Job) -> bytes:
    """Make text of UTF-8 with LF of a file, as far as that is asked for (F102, F103, F105).

    CRLF is left for the step that writes the lines anew, which tells lines apart anyway.

    Raises:
        UsageError: If the encoding given is not known to Python.
    """
    data = _as_utf8(data, job)
    if data.startswith(BOM):
        data = data[len(BOM) :]
        job.done("F102", 1)
    if b"\r" in data and b"\n" not in data:
        job.done("F105", data.count(b"\r"))
        data = data.replace(b"\r", b"\n")
    return data


def _as_utf8(data: bytes, job: Job) -> bytes:
    """Decode what is not UTF-8, if F103 was asked for."""
    guess = guess_encoding(data, not _is_utf8(data))
    if guess is None or "F103" not in job.asked:
        return data
    encoding = job.options.encoding or guess
    if not encoding.startswith("utf-") and job.options.encoding is None:
        return _decode_bad_lines(data, job)
    try:
        text = codecs.decode(data, encoding)
    except LookupError:
        raise UsageError(
            f"there is no encoding '{encoding}'", remedy="name one such as latin-1, cp1252, utf-16"
        ) from None
    except (UnicodeError, ValueError) as error:
        job.skip("F103", f"the text is not {encoding} ({error})")
        return data
    mended = text.encode()
    job.done("F103", _n_changed(data, mended), f"converted from {encoding} to UTF-8")
    return mended


def _n_changed(before: bytes, after: bytes) -> int:
    """In how many lines two texts differ; all of them where line ends are no single byte."""
    old, new = before.split(b"\n"), after.split(b"\n")
    if b"\0" in before or len(old) != len(new):
        return len(new) - (not new[-1])
    return sum(one != other for one, other in zip(old, new, strict=True))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decode_bad_lines(data: bytes, job: Job) -> bytes:
    """Decode the lines that are not UTF-8 and leave the others: most such files are a mixture."""
    lines = data.split(b"\n")
    bad = [at for at, line in enumerate(lines) if not _is_utf8(line)]
    # Latin-1 has control characters where Windows has quotes and dashes.
    encoding = "latin-1"
    if any(0x80 <= byte < 0xA0 for at in bad for byte in lines[at]):
        try:
            b"\n".join(lines[at] for at in bad).decode("cp1252")
            encoding = "cp1252"
        except UnicodeDecodeError:
            pass
    for at in bad:
        lines[at] = lines[at].decode(encoding).encode()
    job.done("F103", len(bad), f"converted lines from {encoding} to UTF-8")
    return b"\n".join(lines)
