"""Rules on how a file is packed: lines without end, compressed streams and their names."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.formats.facts import LONG_LINE_BYTES
from trectools_plus.formats.limits import MAX_LINE_BYTES
from trectools_plus.text import visible
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.views import TableView

_SUFFIXES = {"gzip": ".gz", "bz2": ".bz2", "xz": ".xz", "zstd": ".zst"}


@rule(
    "F110",
    "long-line",
    on="file",
    scope="row",
    severity="warning",
    fix="no",
    checks="line over 64 KiB; error over 16 MiB, where reading stops",
    rationale="No row is so long: line ends were lost, or the file is something else. Tools with "
    "a fixed buffer cut such a line into several rows.",
    example="run.txt:4: warning F110: 1,000,014-byte line. Check that line ends were not lost.",
    remedy="Check that line ends were not lost",
    may_be_error=True,
)
def long_line(table: TableView) -> Hit | None:
    """A line is far too long."""
    if table.columns is None or not table.columns.facts.long_lines:
        return None
    facts = table.columns.facts
    long = facts.long_lines
    if facts.stopped_at is not None and facts.stopped_at == facts.longest_line_at:
        return Hit(
            f"line of over {MAX_LINE_BYTES:,} bytes; nothing from here on was read",
            [facts.stopped_at],
            severity="error",
        )
    if not table.is_by_lines:
        return None  # line ends mean nothing in JSON and markup
    first = [facts.longest_line_at] if facts.longest_line_at is not None else []
    others = [line for line in long.lines.tolist() if line not in first]
    more = f" ({long.count:,} lines over {LONG_LINE_BYTES >> 10} KiB)" if long.count > 1 else ""
    return Hit(f"{facts.longest_line:,}-byte line{more}", first + others, long.count)


@rule(
    "F112",
    "gzip-name",
    on="file",
    scope="file",
    severity="warning",
    fix="ask",
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
