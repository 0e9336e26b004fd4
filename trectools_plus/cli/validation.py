"""Checking files with ``… validate``: the files beside them, fixed copies, and the output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import typer

from trectools_plus import formats, testsets, validation
from trectools_plus.cli.options.validation import FixOptions, OutputOptions
from trectools_plus.cli.verbosity import inform
from trectools_plus.errors import (
    CheckFailedError,
    FormatError,
    TrectoolsPlusError,
    UsageError,
    raise_all,
)

CLEAN_FILES_NAMED = 10
"""With more files than this, those without findings are only counted."""
MakeFix = Callable[[str, str, tuple[str, ...]], "validation.FixSummary"]
"""Fixes a file: its path, the path to write, the codes that were named."""


@dataclass(frozen=True, slots=True)
class References:
    """The files that runs and qrels are checked against, as far as they were named.

    Attributes:
        qrels: Judgments.
        run: Results.
        topics: The queries that should be answered.
        docids: A list of the documents that exist.
        docid_pattern: A regular expression that document ids match.
    """

    qrels: str | None = None
    run: str | None = None
    topics: str | None = None
    docids: Path | None = None
    docid_pattern: str | None = None

    def read_topics(
        self, choices: validation.Choices
    ) -> formats.Topics | validation.FileReport | None:
        """Read the queries, of a test set too; or return the report on their file if it has errors.

        Raises:
            FormatError: If it cannot be read, and no chosen rule gives the reason.
        """
        if self.topics is None:
            return None
        try:
            return formats.read_topics(self.topics)
        except FormatError:
            if self.topics == "-":  # can be read only once
                raise
            report = validation.validate_topics(self.topics)
            if choices.apply(report).errors:
                return report
            if report.kind != "testset":
                raise
            return testsets.topics_of(testsets.load_test_set(self.topics), self.topics)

    def read_documents(self) -> validation.DocumentIds | None:
        """Return the document ids that exist."""
        if self.docids is None and self.docid_pattern is None:
            return None
        ids = None if self.docids is None else validation.read_document_ids(self.docids)
        return validation.DocumentIds(ids, self.docid_pattern)


class Fixer:
    """Fixes files as ``--fix`` asks, and prints the fixes.

    Args:
        output: The options; without ``--fix`` files are left as they are.
        paths: All files that will be fixed.
        fix: Fixes one of them.
        beside: Other files that are read: topics, judgments, settings.

    Raises:
        UsageError: If there is not exactly one place to write to, two files would be written to
            the same one, or one over a file that is read.
    """

    def __init__(
        self,
        output: FixOptions,
        paths: Sequence[str],
        fix: MakeFix,
        beside: Sequence[str | Path | None] = (),
    ) -> None:
        self._output = output
        self._fix = fix
        self._targets: dict[str, str] = {}
        self._codes: tuple[str, ...] = ()
        self._summaries: dict[str, validation.FixSummary] = {}
        if output.fix:
            target, self._codes = validation.split_fix_values(output.fix)
            self._targets = _targets(paths, target)
            for written in self._targets.values():
                validation.refuse_overwriting(written, (*paths, *beside))

    def fixed(self, path: str) -> str:
        """Return the file to check: the fixed copy, or ``path`` itself if nothing was written.

        Raises:
            CheckFailedError: If standard input could not be fixed, because it cannot be read again.
        """
        if path not in self._targets:
            return path
        summary = self._fix(path, self._targets[path], self._codes)
        checked = summary.output or path
        self._summaries[checked] = summary
        if summary.output is None and path == "-":
            raise CheckFailedError(f"not fixed, nothing written: {summary.refused}", where=path)
        self._print(summary)
        return checked

    def extras(self, report: validation.FileReport) -> dict[str, Any]:
        """Return the fixes of a file, for its entry in the JSON document."""
        summary = self._summaries.get(report.path)
        return {} if summary is None else {"fixes": summary.to_dict()}

    def _print(self, summary: validation.FixSummary) -> None:
        if self._output.diff:
            sys.stdout.writelines(summary.iter_diff())
        if self._output.output_format == "text":
            sys.stdout.write(f"{summary.to_text()}\n")
        elif self._output.output_format != "json":  # the document contains it
            inform(summary.to_text(), newline=False)


def _targets(paths: Sequence[str], target: str) -> dict[str, str]:
    """Return for each path to read the one to write: ``target``, or a file in that folder."""
    if not Path(target).is_dir():
        if len(paths) > 1:
            raise UsageError(
                "expected a folder for several files",
                where=f"--fix {target}",
                remedy="make the folder, or fix one file at a time",
            )
        return {paths[0]: target}
    targets = {path: str(Path(target) / _name(path)) for path in paths}
    if len(set(targets.values())) < len(paths):
        raise UsageError(
            "two files have the same name",
            where=f"--fix {target}",
            remedy="fix one file at a time",
        )
    return targets


def _name(path: str) -> str:
    return "stdin" if path == "-" else Path(path).name


def finish(
    reports: Iterable[validation.FileReport],
    choices: validation.Choices,
    output: OutputOptions,
    *,
    n_files: int = 1,
    fixer: Fixer | None = None,
    unread: Sequence[TrectoolsPlusError] = (),
) -> None:
    """Write the chosen findings, each report as it comes, and exit with 1 if the check fails.

    Args:
        reports: The findings, read once.
        choices: The findings that the user wants, and those that fail the check.
        output: The format of the output.
        n_files: The number of files that the user named.
        fixer: The fixer of the files, if ``--fix`` was given.
        unread: Errors of files that were named and cannot be read.

    Raises:
        InputError: If there are such files.
        typer.Exit: With code 1 if a finding fails the check.
    """
    judged = _Judged(reports, choices)
    if output.output_format == "text":
        validation.print_text(
            judged,
            sys.stdout,
            statistics=output.statistics,
            list_clean=n_files <= CLEAN_FILES_NAMED,
        )
    else:
        sys.stdout.writelines(_chunks(judged, choices, output, fixer))
    raise_all(unread)
    if judged.failed:
        raise typer.Exit(1)


class _Judged:
    """Reports as the user wants them; remembers whether one of them failed the check."""

    def __init__(
        self, reports: Iterable[validation.FileReport], choices: validation.Choices
    ) -> None:
        self._reports = reports
        self._choices = choices
        self.failed = False

    def __iter__(self) -> Iterator[validation.FileReport]:
        for report in self._reports:
            judged = self._choices.apply(report)
            self.failed |= self._choices.fails(judged)
            yield judged


def _chunks(
    reports: Iterable[validation.FileReport],
    choices: validation.Choices,
    output: OutputOptions,
    fixer: Fixer | None,
) -> Iterator[str]:
    renderer: Any = validation.RENDERERS[output.output_format]
    if output.output_format == "json":
        extras = None if fixer is None else fixer.extras
        renderer = partial(renderer, statistics=output.statistics, extras=extras)
    elif output.output_format == "junit":
        renderer = partial(renderer, strict=choices.strict)
    chunks: Iterator[str] = renderer(reports)
    return chunks
