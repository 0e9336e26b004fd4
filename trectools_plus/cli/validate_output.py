"""Reports of all ``… validate`` commands: written one by one, then the exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from trectools_plus.cli.validate_options import Output, OutputFormat
from trectools_plus.errors import TrectoolsPlusError, raise_all

if TYPE_CHECKING:
    from trectools_plus.cli.validate_fix import Mender
    from trectools_plus.validation.findings import FileReport
    from trectools_plus.validation.profiles import Choices

CLEAN_FILES_NAMED = 10
"""With more files than this, those without findings are only counted."""


def finish(
    reports: Iterable[FileReport],
    choices: Choices,
    output: Output,
    *,
    n_files: int = 1,
    mender: Mender | None = None,
    unread: Sequence[TrectoolsPlusError] = (),
) -> None:
    """Write the chosen findings, each report as it comes, and leave with 1 if the check fails.

    Args:
        reports: What the rules found, read once.
        choices: What of it the user wants, and what fails the check.
        output: How it is written.
        n_files: How many files the user named.
        mender: What mended the files before they were checked, if ``--fix`` was given.
        unread: What is wrong with files that were named and cannot be read.

    Raises:
        InputError: If there is any of these.
        typer.Exit: With code 1 if a finding fails the check.
    """
    judged = _Judged(reports, choices)
    if output.format is OutputFormat.TEXT:
        from trectools_plus.validation.rendering.text import print_text

        print_text(
            judged,
            sys.stdout,
            statistics=output.statistics,
            list_clean=n_files <= CLEAN_FILES_NAMED,
        )
    else:
        sys.stdout.writelines(_chunks(judged, choices, output, mender))
    raise_all(unread)
    if judged.failed:
        raise typer.Exit(1)


class _Judged:
    """Reports as the user wants them; remembers whether one of them failed the check."""

    def __init__(self, reports: Iterable[FileReport], choices: Choices) -> None:
        self._reports = reports
        self._choices = choices
        self.failed = False

    def __iter__(self) -> Iterator[FileReport]:
        for report in self._reports:
            judged = self._choices.judge(report)
            self.failed |= self._choices.fails(judged)
            yield judged


def _chunks(
    reports: Iterable[FileReport], choices: Choices, output: Output, mender: Mender | None
) -> Iterator[str]:
    from trectools_plus.validation.rendering import RENDERERS

    renderer: Any = RENDERERS[output.format]
    if output.format is OutputFormat.JSON:
        extras = None if mender is None else mender.extras
        renderer = partial(renderer, statistics=output.statistics, extras=extras)
    elif output.format is OutputFormat.JUNIT:
        renderer = partial(renderer, strict=choices.strict)
    chunks: Iterator[str] = renderer(reports)
    return chunks
