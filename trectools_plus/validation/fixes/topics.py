"""Fixing topics in TSV: line ends, a header, tabs, repeated topics, blanks in ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from trectools_plus.errors import FormatError
from trectools_plus.formats.rows import open_output
from trectools_plus.formats.source import read_source
from trectools_plus.formats.topics import is_header
from trectools_plus.validation.fixes.arguments import FixOptions, refuse_overwriting
from trectools_plus.validation.fixes.changes import iter_changes
from trectools_plus.validation.fixes.job import Job
from trectools_plus.validation.fixes.offers import OFFERS
from trectools_plus.validation.fixes.summary import FixSummary
from trectools_plus.validation.fixes.text import mend_bytes

_BLANKS = " \t\x0b\x0c"
_STRUCTURED = (".json", ".jsonl", ".yaml", ".yml", ".xml", ".sgml")


def fix_topics(
    path: str | Path,
    output: str | Path,
    *,
    codes: Sequence[str] = (),
    options: FixOptions = FixOptions(),  # noqa: B008, it is frozen
) -> FixSummary:
    """Write a fixed copy of topics in TSV; see :func:`trectools_plus.validation.fixes.fix_run`.

    JSON, YAML, SGML and XML are not written: there, only an editor keeps all that is in a file.

    Args:
        path: The topics; ``-`` is standard input.
        output: Where to write; its suffix says how it is compressed.
        codes: Fixes to apply beyond the safe ones, such as ``T113``.
        options: Choices that some fixes need.

    Raises:
        UsageError: If the output is the input, or a code has no fix for topics.
        InputError: If a file cannot be read, or the output cannot be written.
    """
    refuse_overwriting(output, (path,))
    job = Job.of("topics", codes, options)
    summary = FixSummary(str(path), "topics", None)
    try:
        source = read_source(path)
    except FormatError as error:
        return replace(summary, refused=error.what)
    data = mend_bytes(source.data, job)
    why = _why_refused(data, str(path))
    if why is not None:
        return replace(summary, refused=why, notes=tuple(job.notes))
    kept = list(_mend_lines(data, job))
    if not kept:
        return replace(summary, refused="it has no topics (F101)", notes=tuple(job.notes))
    written = "".join(f"{text}\n" for _, text in kept).encode()
    why = _why_refused(written, str(path))  # a comment stood above it
    if why is not None:
        return replace(summary, refused=why, notes=tuple(job.notes))
    with open_output(output) as stream:
        stream.write(written)
    origin = np.array([line for line, _ in kept], dtype=np.uint32)
    return replace(
        summary,
        output=str(output),
        applied=tuple(job.applied),
        notes=tuple(job.notes),
        lines_before=data.count(b"\n") + (not data.endswith(b"\n")),
        lines_after=len(kept),
        _changes=partial(iter_changes, data, written, origin),
    )


def _why_refused(data: bytes, path: str) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f"line {line} is not UTF-8, --fix F103 converts it"
    if "\0" in text:
        return f"NUL byte on line {text[: text.index(chr(0))].count(chr(10)) + 1} (F106)"
    if re.search(r"\r(?!\n|\Z)", text):
        return "single CR within a line, a line end to some (F105)"
    if text.lstrip().startswith(("{", "[", "<")) or Path(path).suffix.lower() in _STRUCTURED:
        return "only topics in TSV can be fixed"
    return None


def _mend_lines(data: bytes, job: Job) -> Iterator[tuple[int, str]]:
    """Yield number and mended text of each line that stays; note what was done."""
    counts: Counter[str] = Counter()
    counts["F109"] = int(not data.endswith(b"\n"))
    texts: dict[str, str] = {}
    first = True
    for number, raw in enumerate(data.decode().removesuffix("\n").split("\n"), 1):
        line = raw.removesuffix("\r")
        counts["F104"] += line != raw
        if line.startswith("#") or not line.strip(_BLANKS):
            counts["F107" if line.startswith("#") else "F108"] += 1
            continue
        query_id, tab, text = line.partition("\t")
        if tab and first and is_header(query_id, text):
            counts["T103"] += 1
            first = False
            continue
        first = False
        if tab:
            counts["T102"] += "\t" in text
            query_id, text = _form_id(query_id, job, counts), text.replace("\t", " ")
            key, known = query_id.strip(" "), text.strip(" ")
            if texts.get(key) == known:
                counts["T111"] += 1
                continue
            texts.setdefault(key, known)
            line = f"{query_id}\t{text}"
        yield number, line
    for code in OFFERS:
        if counts[code]:
            job.done(code, counts[code])


def _form_id(query_id: str, job: Job, counts: Counter[str]) -> str:
    """An id with ``_`` for its inner blanks, if that was asked for (T113)."""
    formed = re.sub(r"\s+", "_", query_id.strip(" "))
    if "T113" not in job.asked or formed == query_id.strip(" "):
        return query_id
    counts["T113"] += 1
    return formed
