"""Rules on how a file is packed: damaged streams, and names of another compression."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.formats.files.compression import SUFFIXES
from trectools_plus.formats.files.source import Source
from trectools_plus.text import visible
from trectools_plus.validation.draft import Job
from trectools_plus.validation.registry import Hit, RuleFix, rule
from trectools_plus.validation.views.tables import TableView

_SUFFIXES = {"gzip": ".gz", "bz2": ".bz2", "xz": ".xz", "zstd": ".zst"}


@rule(
    "F112",
    "gzip-name",
    on="file",
    scope="file",
    severity="warning",
    fix=RuleFix("ask", "compressed as the output's name says"),
    checks="magic bytes 1F 8B without .gz name, or .gz name without them; other compression alike",
    rationale="Here the bytes decide; ir_measures, ranx and others go by the name, and then read "
    "compressed bytes as text, or stop.",
    example="run.txt: warning F112: gzip data without .gz name; read as gzip. Rename it to "
    "run.txt.gz.",
    remedy="Rename it",
)
def gzip_name(table: TableView) -> Hit | None:
    """The name says another compression than the bytes."""
    if table.columns is None or table.path == "-":
        return None
    compression = table.columns.source.compression
    suffix = _SUFFIXES.get(compression or "", "")
    said = Path(table.path).suffix.lower()
    if said not in _SUFFIXES.values():
        said = ""
    if said == suffix:
        return None
    stem = table.name[: -len(said)] if said else table.name
    remedy = f"Rename it to {visible(stem + suffix)}"
    if not said:
        message = f"{compression} data without {suffix} name; read as {compression}"
        return Hit(message, remedy=remedy)
    actual = f"{compression} data" if compression else "no compressed data"
    read_as = compression or "plain text"
    return Hit(f"{said} name, but {actual}; read as {read_as}", remedy=remedy)


@rule(
    "F111",
    "truncated-gzip",
    on="file",
    scope="file",
    severity="error",
    fix="no",
    checks="gzip stream ends early or CRC differs",
    rationale="What could be read of a cut file looks like a whole one with fewer queries.",
    example="run.txt.gz: error F111: gzip stream ends early, after 4,412 whole lines. Copy or "
    "make the file again.",
    remedy="Copy or make the file again",
)
def truncated_gzip(table: TableView) -> Hit | None:  # noqa: ARG001
    """Reported by the engine: a damaged stream has no table."""
    return None


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
