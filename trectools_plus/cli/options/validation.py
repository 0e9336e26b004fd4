"""Options that all ``… validate`` commands share, and checks that named files can be read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import formats, validation
from trectools_plus.choices import FindingsFormat
from trectools_plus.errors import InputError, UsageError, raise_all

FIXES = "Fixes"
"""A panel of the help."""


@dataclass(frozen=True)
class RuleOptions:
    """Options that choose rules and their severities, for
    :func:`~trectools_plus.cli.options.groups.with_groups`.
    """

    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="Profile of severities and limits: default, trec or submission.",
        ),
    ] = None
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select",
            metavar="CODES",
            help="Check only these rules: codes, prefixes of codes or names, comma-separated, for "
            "example R131,Q1,crlf.",
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            metavar="CODES",
            help="Do not check these rules, written as for --select.",
        ),
    ] = None
    strict: Annotated[
        bool | None, typer.Option("--strict/--no-strict", help="Fail the check on warnings too.")
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="Settings file.  [default: the nearest pyproject.toml or trectools.toml]",
        ),
    ] = None

    def choices(
        self, *, max_depth: int | None = None, max_tag_length: int | None = None
    ) -> validation.Choices:
        """Merge the options and the settings file; an option overrides the file.

        Raises:
            UsageError: If a profile, a code, or a key of the settings does not exist.
            InputError: If the settings file cannot be read.
        """
        if self.config is None:
            settings = validation.find_settings(Path.cwd())
        else:
            settings = validation.read_settings(self.config)
        options = validation.Settings(
            profile=self.profile,
            max_depth=max_depth,
            max_tag_length=max_tag_length,
            select=tuple(_split_codes(self.select)),
            ignore=tuple(_split_codes(self.ignore)),
            strict=self.strict,
        )
        return validation.resolve_choices(settings, options)


def _split_codes(options: Sequence[str] | None) -> list[str]:
    """Split values that may be lists: ``--select R1,R2 --select Q``."""
    codes = [code.strip() for option in options or () for code in option.split(",")]
    return [code for code in codes if code]


@dataclass(frozen=True)
class OutputOptions:
    """Options of the printed output."""

    every: Annotated[
        bool, typer.Option("--all", help="List every line of a finding, not only the first few.")
    ] = False
    output_format: Annotated[
        FindingsFormat, typer.Option("--format", help="Output format of the findings.")
    ] = "text"


@dataclass(frozen=True)
class FixOutputOptions(OutputOptions):
    """Options of the printed output and of the fixed copy."""

    fix: Annotated[
        list[str] | None,
        typer.Option(
            "--fix",
            metavar="OUT|CODES",
            help="Write a copy with all safe fixes to OUT. Repeat the option with the codes of "
            "rules to apply their fixes too: --fix OUT --fix R152.",
            rich_help_panel=FIXES,
        ),
    ] = None
    diff: Annotated[
        bool,
        typer.Option("--diff", help="Print each line that --fix changes.", rich_help_panel=FIXES),
    ] = False

    def __post_init__(self) -> None:
        """Refuse options that exclude each other.

        Raises:
            UsageError: If there are such options.
        """
        if self.diff and not self.fix:
            raise UsageError("nothing to show", where="--diff", remedy="add --fix OUT")
        if self.diff and self.output_format != "text":
            raise UsageError(
                "cannot contain a diff",
                where=f"--format {self.output_format}",
                remedy="leave out --diff or --format",
            )


def find_readable(
    paths: Sequence[str], references: Sequence[str | Path | None] = ()
) -> tuple[list[str], list[InputError]]:
    """Separate files that can be read from the others, before anything is read.

    A pipe is not opened, because it can be read only once.

    Args:
        paths: The files to check.
        references: Files that all of them are checked against.

    Returns:
        The readable files of ``paths``, at least one, and the errors of the others.

    Raises:
        InputError: If a file of ``references`` cannot be read, or no file of ``paths`` can.
        UsageError: If standard input is named twice.
    """
    others = [str(path) for path in references if path is not None]
    if [*paths, *others].count("-") > 1:
        raise UsageError(
            "standard input can be read only once", where="-", remedy="name a file instead of -"
        )
    errors = {path: _find_error(path) for path in (*paths, *others)}
    readable = [path for path in paths if errors[path] is None]
    unread = [error for path in dict.fromkeys(paths) if (error := errors[path]) is not None]
    unusable = [error for path in dict.fromkeys(others) if (error := errors[path]) is not None]
    if unusable or not readable:
        raise_all([*unusable, *unread])
    return readable, unread


def _find_error(path: str) -> InputError | None:
    """Return the reason why a path is not a readable file; ``None`` if it is one."""
    if path == "-" or formats.is_catalogue_name(path):
        return None
    if formats.is_address(path):
        try:
            formats.check_readable(path)
        except InputError as error:
            return error
        return None
    try:
        is_folder = Path(path).is_dir()
        Path(path).stat()
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            return InputError(f"cannot read: {error.strerror}", where=path)
        return InputError("no such file", where=path, remedy="check the path")
    if is_folder:
        return InputError("is a folder, not a file", where=path, remedy="name a file in it")
    if not os.access(path, os.R_OK):
        return InputError("cannot read: Permission denied", where=path)
    return None
