"""Rules on compression: damaged streams, and file names that do not match the content."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trectools_plus.formats.files.compression import SUFFIXES, Compression
from trectools_plus.formats.files.content import FileContent
from trectools_plus.text import visible
from trectools_plus.validation.registry import Hit, RuleFix, rule
from trectools_plus.validation.views.tables import TableView

if TYPE_CHECKING:
    from trectools_plus.validation.draft import Job

_SUFFIXES = {"gzip": ".gz", "bz2": ".bz2", "xz": ".xz", "zstd": ".zst"}


@rule(
    "F112",
    "gzip-name",
    on="file",
    scope="file",
    severity="warning",
    fix=RuleFix("ask", "compressed as the output's name says"),
    checks="gzip data (1F 8B) without a .gz name, or a .gz name without gzip data; the same for "
    "other compressions",
    rationale="This package recognises compression by the bytes. ir_measures, ranx and others "
    "use the name, and then read compressed bytes as text, or stop.",
    example="run.txt: warning F112: gzip data without a .gz name; read as gzip. Rename it to "
    "run.txt.gz.",
    remedy="Rename it",
)
def gzip_name(table: TableView) -> Hit | None:
    """The name does not match the compression of the content."""
    if table.columns is None or table.path == "-":
        return None
    return check_name(table.path, table.columns.source.compression)


def check_name(path: str, compression: Compression | None) -> Hit | None:
    """Return the hit of F112 for a file."""
    suffix = _SUFFIXES.get(compression or "", "")
    named = Path(path).suffix.lower()
    if named not in _SUFFIXES.values():
        named = ""
    if named == suffix:
        return None
    name = Path(path).name
    stem = name.removesuffix(Path(path).suffix) if named else name
    remedy = f"Rename it to {visible(stem + suffix)}"
    if not named:
        message = f"{compression} data without a {suffix} name; read as {compression}"
        return Hit(message, remedy=remedy)
    actual = f"the data is {compression or 'not compressed'}"
    read_as = compression or "plain text"
    return Hit(f"the name ends in {named}, but {actual}; read as {read_as}", remedy=remedy)


@rule(
    "F111",
    "truncated-gzip",
    on="file",
    scope="file",
    severity="error",
    fix="no",
    checks="gzip stream ends early or CRC differs",
    rationale="The readable part of a truncated file looks like a complete file with fewer "
    "queries.",
    example="run.txt.gz: error F111: gzip stream ends early, after 4,412 whole lines. Copy or "
    "create the file again.",
    remedy="Copy or create the file again",
)
def truncated_gzip(table: TableView) -> Hit | None:  # noqa: ARG001
    """Find nothing: the engine reports F111, because a damaged stream has no view."""
    return None


def log_compression(source: FileContent, output: str | Path, job: Job) -> str | None:
    """Log that the output's name determines its compression (F112), if that was requested.

    Returns:
        The change of compression from input to output; ``None`` if there is none.
    """
    written = SUFFIXES.get(Path(output).suffix.lower())
    what = f"{source.compression or 'plain'} data written as {written or 'plain'}"
    named = SUFFIXES.get(Path(source.path).suffix.lower())
    if "F112" in job.requested and source.path != "-" and named != source.compression:
        job.done("F112", 1, what)
    return None if written == source.compression else what
