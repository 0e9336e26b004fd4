"""The fix of a name that says another compression than the bytes (F112)."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.formats.compression import SUFFIXES
from trectools_plus.formats.source import Source
from trectools_plus.validation.fixes.job import Job


def note_compression(source: Source, output: str | Path, job: Job) -> None:
    """Note that the output's name says how it is compressed, if F112 was asked for."""
    named = SUFFIXES.get(Path(source.path).suffix.lower())
    if "F112" not in job.asked or source.path == "-" or named == source.compression:
        return
    written = SUFFIXES.get(Path(output).suffix.lower())
    job.done("F112", 1, f"{source.compression or 'plain'} data written as {written or 'plain'}")
