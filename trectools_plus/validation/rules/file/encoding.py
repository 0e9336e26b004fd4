"""Rules on the bytes of a file: compression, byte order mark, encoding, bare CR, NUL."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from trectools_plus.text import visible
from trectools_plus.validation.registry import Case, Rule
from trectools_plus.validation.views.places import Places
from trectools_plus.validation.views.tables import TableView, has_only_bare_cr, wide_encoding

_SUFFIXES = {"gzip": ".gz", "bz2": ".bz2", "xz": ".xz", "zstd": ".zst"}


def other_name(table: TableView) -> Places:
    """Return the file if its name does not match the compression of the content."""
    if table.path == "-":
        return Places()
    path, compression = Path(table.path), table.file.source.compression
    suffix = _SUFFIXES.get(compression or "", "")
    named = path.suffix if path.suffix.lower() in _SUFFIXES.values() else ""
    name = visible((path.name.removesuffix(named) if named else path.name) + suffix)
    first = {"data": f"{compression or 'uncompressed'} data", "name": name}
    return Places(int(named.lower() != suffix), first={**first, "named": named or suffix})


F112 = Rule(
    "F112",
    "gzip-name",
    "file",
    "warning",
    checks="gzip data (1F 8B) without a .gz name, or a .gz name without gzip data; the same for "
    "other compressions",
    rationale="This package recognises compression by the bytes. ir_measures, ranx and others "
    "use the name, and then read compressed bytes as text, or stop.",
    example="run.txt: warning F112: gzip data in a file whose name does not say so. Rename it to "
    "run.txt.gz.",
    remedy="Rename it",
    cases=(
        Case(
            "warning",
            "{data} in a file whose name does not say so",
            other_name,
            remedy="Rename it to {name}",
        ),
    ),
)
F111 = Rule(
    "F111",
    "truncated-gzip",
    "file",
    "error",
    checks="gzip stream ends early or CRC differs",
    rationale="The readable part of a truncated file looks like a complete file with fewer "
    "queries.",
    example="run.txt.gz: error F111: gzip stream ends early, after 4,412 whole lines. Copy or "
    "create the file again.",
    remedy="Copy or create the file again",
)  # the engine reports it, because a damaged stream has no view


F102 = Rule(
    "F102",
    "byte-order-mark",
    "file",
    "warning",
    fix="safe",
    fixed="took off the byte order mark",
    checks="file starts with EF BB BF",
    rationale="Other readers make the mark part of the first query id, so the first row belongs "
    "to a query that is not in the qrels.",
    example="run.txt:1: warning F102: byte order mark; other readers make it part of the first id "
    "and lose the row. Save as UTF-8 without BOM.",
    remedy="Save as UTF-8 without BOM",
    notes={"warning": "the mark is ignored"},
    cases=(
        Case(
            "warning",
            "byte order mark; other readers make it part of the first id and lose the row",
            lambda table: Places(int(table.file.facts.has_bom), [1]),
        ),
    ),
)


def bad_byte(table: TableView) -> Places:
    """Return the first byte that is not UTF-8."""
    bad = table.file.facts.bad_utf8
    if bad is None or wide_encoding(table.file) is not None:
        return Places()
    return Places(1, [bad.line], bad.column, first={"byte": f"0x{bad.value:02X}"})


F103 = Rule(
    "F103",
    "not-utf8",
    "file",
    "error",
    checks="bytes that are not UTF-8; UTF-16 and UTF-32 are recognised by their byte order mark "
    "or NUL bytes",
    rationale="Tools decode such bytes differently or stop, so one document gets several ids.",
    example="run.txt:4: error F103: byte 0xE9 is not UTF-8 (it may be Latin-1). Convert: iconv "
    "-f latin1 -t utf-8.",
    remedy="Convert: iconv -f latin1 -t utf-8",
    drop_in="scores",
    chunked=True,
    blocks_fixing=True,
    cases=(
        Case(
            "error",
            "the text is {name}, not UTF-8",
            lambda table: Places(int(wide_encoding(table.file) is not None), [1]),
            shows=lambda table, _: {"name": str(wide_encoding(table.file))},
            remedy="Convert: iconv -f {name} -t utf-8",
            drop_in="refuses",
        ),
        Case(
            "error",
            "byte {byte} is not UTF-8 (it may be Latin-1)",
            bad_byte,
            once=True,
        ),
    ),
)


def marks(table: TableView, character: str) -> Places:
    """Return the places of a character that tools read differently: CR within a line, or NUL."""
    columns = table.file
    if wide_encoding(columns):
        return Places()
    found = columns.facts.bare_cr if character == "\r" else columns.facts.nul
    if not found:
        return Places()
    column = columns.line_index.text(int(found.lines[0])).find(character) + 1 or None
    return Places(found.count, found.lines, column, first={"at": column or 0})


F105 = Rule(
    "F105",
    "bare-cr",
    "file",
    "error",
    fix="safe",
    fixed="wrote LF for bare CR",
    checks="CR not followed by LF",
    rationale="CR alone is the line end of old Macintosh systems. trec_eval reads the whole file "
    "as one row. A CR inside a row is part of an id for some tools and a line end for others, so "
    "only a file whose line ends are all CR can be fixed.",
    example="run.txt:1: error F105: line ends are bare CR; other readers read the whole file as "
    "one row. Convert to LF: tr '\\r' '\\n'.",
    remedy="Convert to LF: tr '\\r' '\\n'",
    blocks_fixing=True,
    chunked=True,
    cases=(
        Case(
            "error",
            "line ends are bare CR; other readers read the whole file as one row",
            lambda table: Places(table.file.facts.bare_cr.count, [1]),
            given=lambda table, _: has_only_bare_cr(table.file),
        ),
        Case(
            "error",
            "CR inside a line[ ({count} in all)]; some readers end the line here",
            partial(marks, character="\r"),
            remedy="Remove it",
            fix="no",
        ),
    ),
)
F106 = Rule(
    "F106",
    "nul-byte",
    "file",
    "error",
    checks="byte 0x00 anywhere",
    rationale="A NUL byte ends a string in C: trec_eval aborts or stops reading there and scores "
    "only the rows before it. Damaged disks and interrupted copies cause NUL bytes.",
    example="run.txt:2: error F106: NUL byte at column 7; trec_eval aborts or stops reading here. "
    "Remove it and check how the file was copied.",
    remedy="Remove it and check how the file was copied",
    blocks_fixing=True,
    chunked=True,
    cases=(
        Case(
            "error",
            "NUL byte at column {at}[ ({count} in all)]; trec_eval aborts or stops reading here",
            partial(marks, character="\0"),
        ),
    ),
)
