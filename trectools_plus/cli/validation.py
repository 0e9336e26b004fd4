"""Common parts of the ``… validate`` and ``… convert`` commands: reference files, fixes, output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import typer

from trectools_plus import formats, testsets, validation
from trectools_plus.cli.options.validation import FixOutputOptions, OutputOptions
from trectools_plus.cli.verbosity import inform, note
from trectools_plus.errors import (
    CheckFailedError,
    FormatError,
    InputError,
    TrectoolsPlusError,
    UsageError,
    raise_all,
)
from trectools_plus.text import plural

CLEAN_FILES_NAMED = 10
"""With more files than this, files without findings are counted instead of listed."""
MakeFix = Callable[[str, str, tuple[str, ...]], "validation.FixSummary"]
"""Fixes a file. Takes its path, the path to write, and the codes given with ``--fix``."""


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


def read_topics(
    path: str | None, options: formats.TopicOptions, choices: validation.Choices
) -> formats.Topics | validation.FileReport | None:
    """Read the queries of topics or a test set; if the file has errors, return the report.

    Raises:
        FormatError: If the file cannot be parsed, and no chosen rule reports the reason.
    """
    if path is None:
        return None
    try:
        topics = formats.read_topics(path, options)
    except FormatError:
        if path == "-":  # can be read only once
            raise
        report = validation.validate_topics(path, options=options)
        if choices.apply(report).errors:
            return report
        if report.kind != "testset":
            raise
        return testsets.topics_of(testsets.load_test_set(path), path)
    if topics.read_as is not None:
        note(f"{path} {topics.read_as}")
    return topics


class Fixer:
    """Writes fixed copies of files if ``--fix`` is given, and prints the fixes.

    Args:
        output: The options.
        paths: All files to fix.
        columns: The columns of tables with other names, which cannot be fixed.
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
        columns: list[str] | None,
        fix: MakeFix,
        other_inputs: Sequence[str | Path | None] = (),
    ) -> None:
        self._output, self._fix = output, fix
        self._targets: dict[str, str] = {}
        self._codes: tuple[str, ...] = ()
        self._summaries: dict[str, validation.FixSummary] = {}
        if output.fix:
            if columns:
                raise UsageError(
                    "--fix does not read tables with other names of columns",
                    where="--columns",
                    remedy="convert the file: runs convert, qrels convert",
                )
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
        summary = self._fix(path, self._targets[path], self._codes)
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
        elif self._output.output_format != "json":  # the document contains it
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
    names = {path: "stdin" if path == "-" else Path(path).name for path in paths}
    targets = {path: str(Path(target) / name) for path, name in names.items()}
    if len(set(targets.values())) < len(paths):
        raise UsageError(
            "two files have the same name",
            where=f"--fix {target}",
            remedy="fix one file at a time",
        )
    return targets


_COUNTED = ("R115", "R123", "R126")
"""Infos on most runs of usual tools, of which the text shows only the number."""


def check_files(
    paths: Sequence[str],
    check: Callable[[str], validation.FileReport],
    choices: validation.Choices,
    output: OutputOptions,
    *,
    fixer: Fixer | None = None,
    against: Sequence[object] = (),
) -> None:
    """Check files and write the selected findings of each; exit with 1 if the check fails.

    Files that cannot be read are reported after the others.

    Args:
        paths: The files that the user named.
        check: Returns the report on a file.
        choices: The rules to report, and the severities that fail the check.
        output: The format of the output.
        fixer: The fixer of the files, if the command has ``--fix``.
        against: Other files that they are checked against; one with errors is reported too, because
            nothing can be checked or scored against it.

    Raises:
        InputError: If a file cannot be read.
        typer.Exit: With code 1 if a finding fails the check.
    """
    unread: list[TrectoolsPlusError] = []

    def checked() -> Iterator[validation.FileReport]:
        for path in paths:
            try:
                yield check(path if fixer is None else fixer.fixed(path))
            except InputError as error:
                unread.append(error)
        yield from _reports_on(against, every=output.every)

    failed: list[bool] = []

    def judge(report: validation.FileReport) -> validation.FileReport:
        judged = choices.apply(report)
        failed.append(choices.fails(judged))
        return judged

    judged = map(judge, checked())
    first = list(islice(judged, 1))
    if not first:
        raise_all(unread)
    judged_reports = chain(first, judged)
    if output.output_format == "text":
        validation.print_text(
            judged_reports,
            sys.stdout,
            statistics=output.statistics,
            list_clean=len(paths) <= CLEAN_FILES_NAMED,
            counted=() if choices.selects else _COUNTED,
        )
    else:
        renderer: Any = validation.RENDERERS[output.output_format]
        if output.output_format == "json":
            extras = None if fixer is None else fixer.extras
            renderer = partial(renderer, statistics=output.statistics, extras=extras)
        sys.stdout.writelines(renderer(judged_reports))
    raise_all(unread)
    if any(failed):
        raise typer.Exit(1)


def _reports_on(against: Sequence[object], *, every: bool) -> Iterator[validation.FileReport]:
    for opened in against:
        report = opened
        if isinstance(opened, validation.RunView | validation.QrelsView):
            opened.every_line = every
            report = validation.report_view(opened)
        if isinstance(report, validation.FileReport) and report.errors:
            yield report
