"""Common parts of the ``… validate`` and ``… convert`` commands: reference files, fixes, output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from trectools_plus import formats, testsets, validation
from trectools_plus.cli.options.validation import FixOutputOptions, OutputOptions
from trectools_plus.cli.verbosity import inform, note
from trectools_plus.errors import (
    CheckFailedError,
    FormatError,
    TrectoolsPlusError,
    UsageError,
    raise_all,
)
from trectools_plus.text import plural

CLEAN_FILES_NAMED = 10
"""With more files than this, files without findings are counted instead of listed."""
MakeFix = Callable[..., "validation.FixSummary"]
"""Fixes a file. Takes its path, the path to write, and the ``codes`` given with ``--fix``."""


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


@dataclass(frozen=True, slots=True)
class References:
    """The files that runs and qrels are checked against; ``None`` if not given.

    Attributes:
        qrels: Judgments.
        run: Results.
        topics: The queries that should have results.
        topic_options: The fields and the language of the topics.
        docids: A list of the ids of all documents.
        docid_pattern: A regular expression that document ids must match.
        columns: The columns of some fields in tables.
    """

    qrels: str | None = None
    run: str | None = None
    topics: str | None = None
    topic_options: formats.TopicOptions | None = None
    docids: Path | None = None
    docid_pattern: str | None = None
    columns: formats.ColumnNames | None = None

    def open_qrels(self) -> validation.QrelsView | validation.FileReport:
        """Read the judgments, which must be given."""
        assert self.qrels is not None
        return validation.open_qrels(self.qrels, formats.columns_for_qrels(self.columns))

    def read_topics(
        self, choices: validation.Choices
    ) -> formats.Topics | validation.FileReport | None:
        """Read the queries of topics or a test set; if the file has errors, return the report.

        Raises:
            FormatError: If the file cannot be parsed, and no chosen rule reports the reason.
        """
        if self.topics is None:
            return None
        options = self.topic_options or formats.TopicOptions()
        try:
            topics = formats.read_topics(self.topics, options)
            if topics.read_as is not None:
                note(f"{self.topics} {topics.read_as}")
            return topics
        except FormatError:
            if self.topics == "-":  # can be read only once
                raise
            report = validation.validate_topics(self.topics, options=options)
            if choices.apply(report).errors:
                return report
            if report.kind != "testset":
                raise
            return testsets.topics_of(testsets.load_test_set(self.topics), self.topics)

    def read_documents(self) -> validation.DocumentIds | None:
        """Return the known document ids, from the list and the pattern."""
        if self.docids is None and self.docid_pattern is None:
            return None
        ids = None if self.docids is None else validation.read_document_ids(self.docids)
        return validation.DocumentIds(ids, self.docid_pattern)


def refuse_columns_of_fixes(columns: formats.ColumnNames | None, output: FixOutputOptions) -> None:
    """Refuse names of columns together with fixes.

    Raises:
        UsageError: If both are given.
    """
    if columns is not None and output.fix:
        raise UsageError(
            "--fix does not read tables with other names of columns",
            where="--columns",
            remedy="convert the file: runs convert, qrels convert",
        )


def report_references(
    opened: validation.RunView | validation.QrelsView | validation.FileReport | None,
    topics: object,
    *,
    every: bool,
) -> Iterator[validation.FileReport]:
    """Yield the reports on the other file and on the topics, if they have errors.

    Nothing can be checked or scored against a file with errors.
    """
    if opened is not None:
        if isinstance(opened, validation.RunView | validation.QrelsView):
            opened.every_line = every
            opened = validation.report_view(opened)
        if opened.errors:
            yield opened
    if isinstance(topics, validation.FileReport):
        yield topics


class Fixer:
    """Writes fixed copies of files if ``--fix`` is given, and prints the fixes.

    Args:
        output: The options.
        paths: All files to fix.
        fix: Fixes one of them.
        other_inputs: Other files that are read: topics, judgments, settings.

    Raises:
        UsageError: If ``--fix`` does not name exactly one file or folder to write to, two copies
            would have the same path, or a copy would overwrite an input.
    """

    def __init__(
        self,
        output: FixOutputOptions,
        paths: Sequence[str],
        fix: MakeFix,
        other_inputs: Sequence[str | Path | None] = (),
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
                formats.refuse_overwriting(written, (*paths, *other_inputs))

    def fixed(self, path: str) -> str:
        """Return the file to check: the fixed copy, or ``path`` itself if nothing was written.

        Raises:
            CheckFailedError: If ``path`` is standard input, which cannot be read again, and no
                copy was written.
        """
        if path not in self._targets:
            return path
        summary = self._fix(path, self._targets[path], codes=self._codes)
        checked = summary.output or path
        self._summaries[checked] = summary
        if summary.output is None and path == "-":
            raise CheckFailedError(f"not fixed, nothing written: {summary.refused}", where=path)
        self._print(summary)
        return checked

    def extras(self, report: validation.FileReport) -> dict[str, Any]:
        """Return the fixes of a file, to add to its entry in the JSON document."""
        summary = self._summaries.get(report.path)
        return {} if summary is None else {"fixes": summary.to_dict()}

    def _print(self, summary: validation.FixSummary) -> None:
        if self._output.diff:
            sys.stdout.writelines(summary.iter_diff())
        if self._output.output_format == "text":
            sys.stdout.write(f"{summary.to_text()}\n")
        elif self._output.output_format == "github":
            inform(summary.to_text(), newline=False)


def _targets(paths: Sequence[str], target: str) -> dict[str, str]:
    """Return the path to write for each path to read: ``target``, or a file in that folder."""
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


_COUNTED = ("R115", "R123", "R126")
"""Infos on most runs of usual tools, of which the text shows only the number."""


def finish(
    reports: Iterable[validation.FileReport],
    choices: validation.Choices,
    output: OutputOptions,
    *,
    n_files: int = 1,
    fixer: Fixer | None = None,
    unread: Sequence[TrectoolsPlusError] = (),
) -> None:
    """Write the selected findings of each report in turn; exit with 1 if the check fails.

    Args:
        reports: The reports, read once.
        choices: The rules to report, and the severities that fail the check.
        output: The format of the output.
        n_files: The number of files that the user named.
        fixer: The fixer of the files, if the command has ``--fix``.
        unread: Errors of named files that cannot be read.

    Raises:
        InputError: If ``unread`` is not empty.
        typer.Exit: With code 1 if a finding fails the check.
    """
    judged = _Judged(reports, choices)
    if output.output_format == "text":
        validation.print_text(
            judged,
            sys.stdout,
            list_clean=n_files <= CLEAN_FILES_NAMED,
            counted=() if choices.selects else _COUNTED,
        )
    else:
        sys.stdout.writelines(_chunks(judged, output, fixer))
    raise_all(unread)
    if judged.failed:
        raise typer.Exit(1)


class _Judged:
    """Reports with the selected findings only; records whether one of them failed the check."""

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
    output: OutputOptions,
    fixer: Fixer | None,
) -> Iterator[str]:
    renderer: Any = validation.RENDERERS[output.output_format]
    if output.output_format == "json":
        extras = None if fixer is None else fixer.extras
        renderer = partial(renderer, extras=extras)
    chunks: Iterator[str] = renderer(reports)
    return chunks
