"""Fix topics and test sets: all fixes in TSV, only some in other forms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from trectools_plus.errors import FormatError
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.topic_records.forms import Form, form_of
from trectools_plus.formats.topic_records.lines import with_tab
from trectools_plus.formats.topic_schema import is_header
from trectools_plus.text import plural
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.draft import FixOptions, Job
from trectools_plus.validation.fixes.engine import (
    count_lines,
    fix_bytes,
    refuse_overwriting,
    write_fixed,
)
from trectools_plus.validation.fixes.structured import quote_values
from trectools_plus.validation.fixes.summary import FixSummary

_BLANKS = " \t\x0b\x0c"
_ENCODING_DECLARED = re.compile(r"<\?xml[^>]*\sencoding\s*=\s*[\"'](?!utf-?8[\"'])", re.IGNORECASE)


def fix_topics(
    path: str | Path,
    output: str | Path,
    *,
    codes: Sequence[str] = (),
    options: FixOptions = FixOptions(),  # noqa: B008, it is frozen
) -> FixSummary:
    """Write a fixed copy of topics or a test set; see :func:`fix_run`.

    TSV supports all fixes. In YAML, JSON and JSON Lines, encoding and line ends are fixed, and ids
    and texts are put in quotes (T114, T115, T117). In SGML and XML, only encoding and line ends are
    fixed.

    Args:
        path: The topics; ``-`` is standard input.
        output: The file to write; its suffix decides its compression.
        codes: Fixes to apply in addition to the safe ones, for example ``T113``.
        options: Options of single fixes.

    Returns:
        The fixes applied and not applied, and the changed lines.

    Raises:
        UsageError: If the output is the input, or a code has no fix for topics.
        InputError: If a file cannot be read, or the output cannot be written.
    """
    refuse_overwriting(output, (path,))
    job = Job(CATALOGUE, "topics", frozenset(codes), options)
    summary = FixSummary(str(path), "topics", None)
    try:
        source = read_file(path)
    except FormatError as error:
        return replace(summary, refused=error.what)
    data = fix_bytes(source.data, job)
    why, kept = _why_unreadable(data), []
    if why is None:
        text = data.decode()
        form = form_of(str(path), text)
        form = "tsv" if form == "blank" else form
        kept = list(_fix_lines(text, job) if form == "tsv" else _fix_structured(text, form, job))
        why = _why_not_written([line for _, line in kept], str(path), form, job)
    if why is not None:
        return replace(summary, refused=why, notes=tuple(job.notes))
    # Other forms need no line end at the end; an existing one is an empty line in ``kept``.
    is_line_based = form in ("tsv", "jsonl")
    written = "\n".join(line for _, line in kept).encode() + b"\n" * is_line_based
    origin = np.array([line for line, text in kept], dtype=np.uint32)
    return write_fixed(output, source, job, data, written, origin[: count_lines(written)])


def _why_unreadable(data: bytes) -> str | None:
    """Return why the lines of a file cannot be read; ``None`` if they can."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f"line {line} is not UTF-8, --fix F103 converts it"
    if "\0" in text:
        return f"NUL byte on line {text[: text.index(chr(0))].count(chr(10)) + 1} (F106)"
    if re.search(r"\r(?!\n|\Z)", text):
        return "single CR within a line, a line end for some readers (F105)"
    return None


def _why_not_written(lines: Sequence[str], path: str, form: Form, job: Job) -> str | None:
    """Return why the fixed text is not written; ``None`` if it is."""
    if not any(line.strip(_BLANKS) for line in lines):
        return "it has no topics (F101)"
    start = "\n".join(lines[:100])
    if form == "tsv" and form_of(path, start) != "tsv":
        return "without its first lines, it is not TSV"  # a comment was removed
    if form == "xml" and "F103" in job.requested and _ENCODING_DECLARED.match(start.lstrip()):
        return "its first line names another encoding than UTF-8; change it there as well"
    return None


def _fix_structured(text: str, form: Form, job: Job) -> Iterator[tuple[int, str]]:
    """Yield number and fixed text of each line that is kept, for all forms but TSV."""
    n_crlf = text.count("\r\n")
    if n_crlf:
        job.done("F104", n_crlf)
    lines = quote_values(text.replace("\r\n", "\n"), form, job).split("\n")
    if form != "jsonl":
        yield from enumerate(lines, 1)
        return
    if lines[-1]:
        job.done("F109", 1)
    lines = lines if lines[-1] else lines[:-1]
    n_blank = sum(not line.strip(_BLANKS) for line in lines)
    if n_blank:
        job.done("F108", n_blank)
    yield from ((number, line) for number, line in enumerate(lines, 1) if line.strip(_BLANKS))


def _fix_lines(data: str, job: Job) -> Iterator[tuple[int, str]]:
    """Yield number and fixed text of each line of TSV that is kept, and log the fixes."""
    counts: Counter[str] = Counter()
    counts["F109"] = int(not data.endswith("\n"))
    texts: dict[str, str] = {}
    first, n_without_tab = True, 0
    for number, raw in enumerate(data.removesuffix("\n").split("\n"), 1):
        line = raw.removesuffix("\r")
        counts["F104"] += line != raw
        if line.startswith("#") or not line.strip(_BLANKS):
            counts["F107" if line.startswith("#") else "F108"] += 1
            continue
        if "\t" not in line and "T101" in job.requested and (tabbed := with_tab(line)):
            counts["T101"] += 1
            line = tabbed
        query_id, tab, text = line.partition("\t")
        n_without_tab += not tab
        if tab and first and is_header(query_id, text):
            counts["T103"] += 1
            first = False
            continue
        first = False
        if tab:
            counts["T102"] += "\t" in text
            query_id, text = _formatted_id(query_id, job, counts), text.replace("\t", " ")
            stripped = text.strip(" ")
            if texts.get(query_id) == stripped:
                counts["T111"] += 1
                continue
            texts.setdefault(query_id, stripped)
            line = f"{query_id}\t{text}"
        yield number, line
    for rule in CATALOGUE.fixable("topics"):
        if counts[rule.code]:
            job.done(rule.code, counts[rule.code])
    if n_without_tab and "T101" in job.requested:
        job.skip(
            "T101", f"{plural(n_without_tab, 'line')} without an id and a blank before the text"
        )


def _formatted_id(query_id: str, job: Job, counts: Counter[str]) -> str:
    """Strip an id and replace its inner white space by ``_``, if T113 was requested."""
    formatted = re.sub(r"\s+", "_", query_id.strip(" "))
    if "T113" not in job.requested or formatted in ("", query_id):
        return query_id
    counts["T113"] += 1
    return formatted
