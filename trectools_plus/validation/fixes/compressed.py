"""The fix of a name that says another compression than the bytes (F112)."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.formats.compression import SUFFIXES
from trectools_plus.formats.source import Source
from trectools_plus.validation.fixes.job import Job


def note_compression(source: Source, output: str | Path, job: Job) -> str | None:
    """Note that the output's name says how it is compressed, if F112 was asked for.

    Returns:
        In which way the output is compressed otherwise than the input; ``None`` if it is not.
    """
    written = SUFFIXES.get(Path(output).suffix.lower())
    what = f"{source.compression or 'plain'} data written as {written or 'plain'}"
    named = SUFFIXES.get(Path(source.path).suffix.lower())
    if "F112" in job.asked and source.path != "-" and named != source.compression:
        job.done("F112", 1, what)
    return None if written == source.compression else what
