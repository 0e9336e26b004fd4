"""Rules on the bytes of a file: compression, byte order mark, encoding, bare CR, NUL."""

from __future__ import annotations

import codecs
from dataclasses import replace
from functools import partial
from pathlib import Path

from trectools_plus.errors import UsageError
from trectools_plus.formats.columns.facts import guess_encoding
from trectools_plus.formats.files.compression import SUFFIXES, Compression
from trectools_plus.formats.files.content import BOM, FileContent
from trectools_plus.text import on, quoted, visible
from trectools_plus.validation.fixes.session import FixSession
from trectools_plus.validation.registry import Hit, Places, RuleFix, fix_step, rule
from trectools_plus.validation.views.tables import TableView, has_only_bare_cr, wide_encoding

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


def log_compression(source: FileContent, output: str | Path, session: FixSession) -> str | None:
    """Log that the output's name determines its compression (F112), if that was requested.

    Returns:
        The change of compression from input to output; ``None`` if there is none.
    """
    written = SUFFIXES.get(Path(output).suffix.lower())
    what = f"{source.compression or 'plain'} data written as {written or 'plain'}"
    named = SUFFIXES.get(Path(source.path).suffix.lower())
    if "F112" in session.requested and source.path != "-" and named != source.compression:
        session.done("F112", 1, what)
    return None if written == source.compression else what


_SURROGATE = 0xED
"""First byte of U+D800 to U+DFFF encoded like UTF-8; the second is at least 0xA0."""


@rule(
    "F102",
    "byte-order-mark",
    on="file",
    scope="file",
    severity="warning",
    fix=RuleFix("safe", "took off the byte order mark"),
    checks="file starts with EF BB BF",
    rationale="Other readers make the mark part of the first query id, so the first row belongs "
    "to a query that is not in the qrels.",
    example="run.txt:1: warning F102: byte order mark before '1'; trec_eval and pytrec_eval would "
    "read query id '\\ufeff1' and lose the row. Save as UTF-8 without BOM.",
    remedy="Save as UTF-8 without BOM",
    notes={"warning": "the mark is ignored"},
)
def byte_order_mark(table: TableView) -> Hit | None:
    """The file starts with a byte order mark."""
    columns = table.columns
    if columns is None or not columns.facts.has_bom:
        return None
    fields = columns.line_index.text(1).split() if columns.facts.n_lines else []
    first = fields[0] if fields else ""
    mark = quoted("\ufeff" + first)
    if table.shape.first_line is None:
        return Hit("byte order mark without data after it", [1])
    if not table.is_line_based:
        return Hit("byte order mark before the text; not every parser accepts it", [1])
    who = "trec_eval and pytrec_eval" if table.kind in ("run", "qrels") else "other readers"
    return Hit(
        f"byte order mark before {quoted(first)}; {who} would read query id {mark} and lose "
        "the row",
        [1],
    )


def _bad_bytes(table: TableView) -> Places:
    """The first byte that is not UTF-8; or the first line of UTF-16 and UTF-32."""
    columns = table.columns
    if columns is None:
        return Places()
    if wide_encoding(columns) is not None:
        return Places(1, [1])
    bad = columns.facts.bad_utf8
    if bad is None:
        return Places()
    after = columns.source.data[bad.offset + 1 : bad.offset + 2]
    is_surrogate = bad.value == _SURROGATE and after >= b"\xa0"
    first = {"value": bad.value, "is_surrogate": is_surrogate}
    return Places(1, [bad.line], bad.column, first=first)


@rule(
    "F103",
    "not-utf8",
    on="file",
    scope="file",
    severity="error",
    fix=RuleFix("ask", "converted to UTF-8", comes_first=True),
    checks="bytes that are not UTF-8; UTF-16 and UTF-32 are recognised by their byte order mark "
    "or NUL bytes",
    rationale="Tools decode such bytes differently or stop, so one document gets several ids.",
    example="run.txt:4: error F103: byte 0xE9 is not UTF-8 (it may be Latin-1). Convert: iconv "
    "-f latin1 -t utf-8.",
    remedy="Convert: iconv -f latin1 -t utf-8",
    drop_in="scores",
    collect=_bad_bytes,
)
def not_utf8(table: TableView, found: Places) -> Hit | None:
    """The bytes are not UTF-8."""
    wide = None if table.columns is None else wide_encoding(table.columns)
    if wide is not None:
        remedy = f"Convert: iconv -f {wide} -t utf-8"
        message = f"the text is {wide.upper()}, not UTF-8"
        return Hit(message, [1], remedy=remedy, drop_in="refuses")
    first = replace(found, count=1, lines=found.lines[:1])
    byte = f"byte 0x{int(found['value']):02X}"
    if found["is_surrogate"]:
        return first.hit(
            f"{byte} begins an encoded surrogate, which is not valid in UTF-8",
            remedy="Write the file again with a correct UTF-8 encoder",
            fix="no",
        )
    return first.hit(f"{byte} is not UTF-8 (it may be Latin-1)")


def _marks(table: TableView, character: str) -> Places:
    """The places of a character that tools read differently: CR within a line, or NUL."""
    columns, index = table.columns, table.line_index
    if columns is None or index is None or wide_encoding(columns):
        return Places()
    marks = columns.facts.bare_cr if character == "\r" else columns.facts.nul
    if marks.first is None:
        return Places()
    column = index.column_of_character(marks.first, character)
    return Places(marks.count, marks.lines.tolist(), column, sums={"lines": len(marks.lines)})


@rule(
    "F105",
    "bare-cr",
    on="file",
    scope="row",
    severity="error",
    fix=RuleFix("safe", "wrote LF for bare CR"),
    checks="CR not followed by LF",
    rationale="CR alone is the line end of old Macintosh systems. trec_eval reads the whole file "
    "as one row. A CR inside a row is part of an id for some tools and a line end for others, so "
    "only a file whose line ends are all CR can be fixed.",
    example="run.txt:1: error F105: line ends are bare CR; trec_eval reads the whole file as one "
    "row. Convert to LF: tr '\\r' '\\n'.",
    remedy="Convert to LF: tr '\\r' '\\n'",
    blocks_fixing=True,
    collect=partial(_marks, character="\r"),
)
def bare_cr(table: TableView, found: Places) -> Hit | None:
    """A CR is not followed by LF."""
    if table.columns is not None and has_only_bare_cr(table.columns):
        who = "trec_eval reads" if table.kind in ("run", "qrels") else "other readers read"
        return Hit(f"line ends are bare CR; {who} the whole file as one row", [1], found.count)
    return found.hit(
        f"CR inside a line{on(found.sums['lines'], 'line')}; some readers end the line here",
        remedy="Remove it",
        fix="no",
    )


@rule(
    "F106",
    "nul-byte",
    on="file",
    scope="row",
    severity="error",
    fix="no",
    checks="byte 0x00 anywhere",
    rationale="A NUL byte ends a string in C: trec_eval aborts or stops reading there and scores "
    "only the rows before it. Damaged disks and interrupted copies cause NUL bytes.",
    example="run.txt:2: error F106: NUL byte at column 7; trec_eval aborts or stops reading here. "
    "Remove it and check how the file was copied.",
    remedy="Remove it and check how the file was copied",
    blocks_fixing=True,
    collect=partial(_marks, character="\0"),
)
def nul_byte(table: TableView, found: Places) -> Hit | None:
    """The file contains a NUL byte."""
    several = f" ({found.count:,} in all)" if found.count > 1 else ""
    who = "trec_eval aborts or stops" if table.kind in ("run", "qrels") else "some readers stop"
    return found.hit(f"NUL byte at column {found.column}{several}; {who} reading here")


@fix_step("F102", "F103", "F105", order=10, phase="bytes")
def fix_bytes(data: bytes, session: FixSession) -> bytes:
    """Fix the encoding, the byte order mark and bare CRs (F102, F103, F105).

    Another step replaces CRLF.

    Raises:
        UsageError: If the encoding in the options does not exist.
    """
    data = _as_utf8(data, session)
    if data.startswith(BOM):
        data = data[len(BOM) :]
        session.done("F102", 1)
    if b"\r" in data and b"\n" not in data:
        session.done("F105", data.count(b"\r"))
        data = data.replace(b"\r", b"\n")
    return data


def _as_utf8(data: bytes, session: FixSession) -> bytes:
    """Convert a file that is not UTF-8, if F103 was requested."""
    guess = guess_encoding(data, not _is_encoded(data))
    if guess is None or "F103" not in session.requested:
        return data
    encoding = session.options.encoding or guess
    if not encoding.startswith("utf-") and session.options.encoding is None:
        return _decode_bad_lines(data, session)
    try:
        text = codecs.decode(data, encoding)
    except LookupError:
        raise UsageError(
            f"unknown encoding '{encoding}'", remedy="use one like latin-1, cp1252 or utf-16"
        ) from None
    except (UnicodeError, ValueError) as error:
        session.skip("F103", f"the text is not {encoding} ({error})")
        return data
    fixed = text.encode()
    session.done("F103", _n_changed(data, fixed), f"converted from {encoding} to UTF-8")
    return fixed


def _n_changed(before: bytes, after: bytes) -> int:
    """Count the lines that differ; all lines if a line end is not a single byte."""
    old, new = before.split(b"\n"), after.split(b"\n")
    if b"\0" in before or len(old) != len(new):
        return len(new) - (not new[-1])
    return sum(one != other for one, other in zip(old, new, strict=True))


def _is_encoded(data: bytes, encoding: str = "utf-8") -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _decode_bad_lines(data: bytes, session: FixSession) -> bytes:
    """Decode only the lines that are not UTF-8, because most such files mix encodings."""
    lines = data.split(b"\n")
    bad = [at for at, line in enumerate(lines) if not _is_encoded(line)]
    # Latin-1 has control characters where Windows has quotes and dashes.
    has_controls = any(0x80 <= byte < 0xA0 for at in bad for byte in lines[at])
    is_windows = has_controls and all(_is_encoded(lines[at], "cp1252") for at in bad)
    encoding = "cp1252" if is_windows else "latin-1"
    for at in bad:
        lines[at] = lines[at].decode(encoding).encode()
    session.done("F103", len(bad), f"converted lines from {encoding} to UTF-8")
    return b"\n".join(lines)
