"""``--fix`` of the ``… validate`` commands: mend a copy first, then check the copy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trectools_plus.cli.validate_options import Output, OutputFormat
from trectools_plus.errors import CheckFailedError, UsageError

if TYPE_CHECKING:
    from trectools_plus.validation.findings import FileReport
    from trectools_plus.validation.fixes import FixSummary

Fixer = Callable[[str, str, tuple[str, ...]], "FixSummary"]
"""Mends a file: its path, the path to write, the codes that were named."""


class Mender:
    """Mends files as ``--fix`` asks, and tells what it did.

    Args:
        output: The options; without ``--fix`` files are left as they are.
        paths: All files that will be mended.
        fix: How one of them is mended.
        beside: Files that are read besides: topics, judgments, settings.

    Raises:
        UsageError: If there is not exactly one place to write to, two files would be written to
            the same one, or one over a file that is read.
    """

    def __init__(
        self,
        output: Output,
        paths: Sequence[str],
        fix: Fixer,
        beside: Sequence[str | Path | None] = (),
    ) -> None:
        self._output = output
        self._fix = fix
        self._targets: dict[str, str] = {}
        self._codes: tuple[str, ...] = ()
        self._summaries: dict[str, FixSummary] = {}
        if output.fix:
            from trectools_plus.validation.fixes.engine import (
                refuse_overwriting,
                split_fix_values,
            )

            target, self._codes = split_fix_values(output.fix)
            self._targets = _targets(paths, target)
            for written in self._targets.values():
                refuse_overwriting(written, (*paths, *beside))

    def mended(self, path: str) -> str:
        """The file to check: the mended copy, or ``path`` itself where nothing was written.

        Raises:
            CheckFailedError: If standard input could not be mended, for it cannot be read again.
        """
        if path not in self._targets:
            return path
        summary = self._fix(path, self._targets[path], self._codes)
        checked = summary.output or path
        self._summaries[checked] = summary
        if summary.output is None and path == "-":
            raise CheckFailedError(f"not fixed, nothing written: {summary.refused}", where=path)
        self._tell(summary)
        return checked

    def extras(self, report: FileReport) -> dict[str, Any]:
        """What was mended in a file, for its entry in the JSON document."""
        summary = self._summaries.get(report.path)
        return {} if summary is None else {"fixes": summary.to_dict()}

    def _tell(self, summary: FixSummary) -> None:
        if self._output.diff:
            sys.stdout.writelines(summary.iter_diff())
        if self._output.format is OutputFormat.TEXT:
            sys.stdout.write(f"{summary.to_text()}\n")
        elif self._output.format is not OutputFormat.JSON:  # there it is in the document
            sys.stderr.write(summary.to_text())


def _targets(paths: Sequence[str], target: str) -> dict[str, str]:
    """The path to write for each path to read: ``target``, or its name in the folder ``target``."""
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
