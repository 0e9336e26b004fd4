"""Common parts of the ``… validate`` and ``… convert`` commands: fixes, checks, output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from trectools_plus import formats, validation
from trectools_plus.cli.options.validation import CheckOptions
from trectools_plus.cli.verbosity import inform, note
from trectools_plus.errors import (
    CheckFailedError,
    InputError,
    TrectoolsPlusError,
    UsageError,
    raise_all,
)
from trectools_plus.text import plural

CLEAN_FILES_NAMED = 10
"""With more files than this, files without findings are counted instead of listed."""
_COUNTED = ("R115", "R123", "R126")
"""Infos on most runs of usual tools, of which the text shows only the number."""

Output = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output."),
]


def report_conversion(
    converted: validation.ConvertedTable[formats.Run] | validation.ConvertedTable[formats.Qrels],
    source: str,
    output: str,
) -> None:
    """Report a conversion: its size if it was written to a file, and notes."""
    frame = converted.table.frame
    size = f"{plural(frame['query_id'].n_unique(), 'query', 'queries')}, "
    size += plural(frame.height, "row")
    if output != "-":
        typer.echo(f"{output}: {size}, from {source} ({converted.format})")
    for text in converted.notes:
        note(text)


def fix_file(
    values: Sequence[str],
    paths: Sequence[str],
    fix: Callable[..., validation.FixSummary],
    *,
    columns: list[str] | None = None,
    inputs: Sequence[str | Path | None] = (),
) -> validation.FixSummary:
    """Write a fixed copy of a file, and print the fixes.

    Args:
        values: The values of ``--fix``: the file to write, and codes of rules.
        paths: The file.
        fix: Takes the file, the file to write, and the ``codes``.
        columns: The columns of tables with other names, which cannot be fixed.
        inputs: Other files that are read: topics, judgments, settings.

    Raises:
        UsageError: If there are several files or other columns, or the copy would overwrite an
            input.
        CheckFailedError: If standard input, which cannot be read again, is not fixed.
    """
    if columns or len(paths) > 1:
        raise UsageError(
            "--fix takes one file, without --columns",
            where=f"--fix {values[0]}",
            remedy="fix one file at a time; convert a table with runs convert or qrels convert",
        )
    target, codes = validation.split_fix_values(values)
    formats.refuse_overwriting(target, (*paths, *inputs))
    summary = fix(paths[0], target, codes=codes)
    if summary.output is None and summary.path == "-":
        raise CheckFailedError(f"not fixed, nothing written: {summary.refused}", where="-")
    inform(summary.to_text(), newline=False)
    return summary


def check_files(
    paths: Sequence[str],
    check: Callable[[str], validation.FileReport],
    choices: validation.Choices,
    options: CheckOptions,
    *,
    fixed: validation.FixSummary | None = None,
    against: validation.QrelsView | validation.FileReport | None = None,
) -> None:
    """Check files and write the selected findings of each; exit with 1 if the check fails.

    Files that cannot be read are reported after the others.

    Args:
        paths: The files that the user named.
        check: Returns the report on a file.
        choices: The rules to report, and the severities that fail the check.
        options: The format of the output.
        fixed: The fixes of the only file, whose copy is checked instead.
        against: The qrels that they are checked against. They are reported too if they have errors,
            because nothing can be checked or scored against them.

    Raises:
        InputError: If a file cannot be read.
        typer.Exit: With code 1 if a finding fails the check.
    """
    if fixed is not None and fixed.output is not None:
        paths = [fixed.output]
    unread: list[TrectoolsPlusError] = []
    reports: list[validation.FileReport] = []
    for path in paths:
        try:
            reports.append(choices.apply(check(path)))
        except InputError as error:
            unread.append(error)
    if isinstance(against, validation.QrelsView):
        against.every_line = options.every
        against = validation.report_view(against)
    if against is not None and against.errors:
        reports.append(choices.apply(against))
    if reports:
        _print(reports, choices, options, fixed)
    raise_all(unread)
    if any(map(choices.fails, reports)):
        raise typer.Exit(1)


def _print(
    reports: Sequence[validation.FileReport],
    choices: validation.Choices,
    options: CheckOptions,
    fixed: validation.FixSummary | None,
) -> None:
    if options.output_format == "text":
        counted = () if choices.selects else _COUNTED
        list_clean = len(reports) <= CLEAN_FILES_NAMED
        validation.print_text(reports, sys.stdout, list_clean=list_clean, counted=counted)
    else:
        renderer: Any = validation.RENDERERS[options.output_format]
        if fixed is not None and options.output_format == "json":
            renderer = partial(renderer, extras=lambda _: {"fixes": fixed.to_dict()})
        sys.stdout.writelines(renderer(reports))
