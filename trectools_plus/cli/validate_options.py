"""Options that all ``… validate`` commands share. Nothing here imports a rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trectools_plus.errors import InputError, UsageError, raise_all

if TYPE_CHECKING:
    from trectools_plus.validation.profiles import Choices


class OutputFormat(StrEnum):
    """How findings are written."""

    TEXT = "text"
    CONCISE = "concise"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"
    JUNIT = "junit"


ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="NAME", help="Severities and limits: default, trec, submission."
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select", metavar="CODES", help="Only these rules: codes, prefixes, names: R131,Q1,crlf."
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="CODES", help="All but these rules, named likewise."),
]
Strict = Annotated[
    bool | None, typer.Option("--strict/--no-strict", help="Warnings fail the check too.")
]
Every = Annotated[
    bool, typer.Option("--all", help="List every place of a finding and not only the first few.")
]
Statistics = Annotated[
    bool, typer.Option("--statistics", help="Count by rule, in place of the findings.")
]
Format = Annotated[OutputFormat, typer.Option("--format", help="How findings are written.")]
FixValues = Annotated[
    list[str] | None,
    typer.Option(
        "--fix",
        metavar="OUT|CODES",
        help="Write a mended copy to OUT: what is safe, and the rules named: --fix OUT --fix R108.",
    ),
]
Diff = Annotated[bool, typer.Option("--diff", help="Show each line that --fix changes.")]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="For --fix F103: what the bytes are, such as latin-1."),
]
Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Settings, in place of the nearest pyproject.toml or trectools.toml.",
    ),
]


@dataclass(frozen=True, slots=True)
class Output:
    """What is written where.

    Attributes:
        format: How findings are written.
        every: Whether every place is listed.
        statistics: Whether findings are counted by rule.
        fix: The values of ``--fix``.
        diff: Whether the changes of ``--fix`` are shown.
    """

    format: OutputFormat = OutputFormat.TEXT
    every: bool = False
    statistics: bool = False
    fix: Sequence[str] = ()
    diff: bool = False

    def __post_init__(self) -> None:
        """Refuse what does not go together.

        Raises:
            UsageError: If two options exclude each other.
        """
        if self.statistics and self.format not in (OutputFormat.TEXT, OutputFormat.JSON):
            raise UsageError(
                "cannot count by rule", where=f"--format {self.format}", remedy="use text or json"
            )
        if self.diff and not self.fix:
            raise UsageError("nothing to show", where="--diff", remedy="add --fix OUT")
        if self.diff and self.format is not OutputFormat.TEXT:
            raise UsageError(
                "is one document, without a diff",
                where=f"--format {self.format}",
                remedy="leave out --diff or --format",
            )


def settle(
    config: Path | None,
    *,
    profile: str | None = None,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    strict: bool | None = None,
    max_depth: int | None = None,
    max_tag_length: int | None = None,
) -> Choices:
    """Put options and settings together; options win.

    Raises:
        UsageError: If a profile, a code, or a key of the settings does not exist.
        InputError: If the settings file cannot be read.
    """
    from trectools_plus.validation.profiles import decide
    from trectools_plus.validation.settings import Settings, find_settings, read_settings

    return decide(
        find_settings(Path.cwd()) if config is None else read_settings(config),
        Settings(
            profile=profile,
            max_depth=max_depth,
            max_tag_length=max_tag_length,
            select=tuple(split_codes(select)),
            ignore=tuple(split_codes(ignore)),
            strict=strict,
        ),
    )


def split_codes(options: Sequence[str] | None) -> list[str]:
    """Codes of a repeatable option whose values may be lists: ``--select R1,R2 --select Q``."""
    codes = [code.strip() for option in options or () for code in option.split(",")]
    return [code for code in codes if code]


def readable(
    paths: Sequence[str], beside: Sequence[str | Path | None] = ()
) -> tuple[list[str], list[InputError]]:
    """Tell files that can be read from others, before anything is read.

    A pipe is only looked at, for whoever opens it has to read it.

    Args:
        paths: The files to check.
        beside: Files that all of them are checked against.

    Returns:
        Those of ``paths`` that can be read, at least one, and what is wrong with the others.

    Raises:
        InputError: If a file of ``beside``, or none of ``paths``, can be read.
        UsageError: If standard input is named twice.
    """
    others = [str(path) for path in beside if path is not None]
    if [*paths, *others].count("-") > 1:
        raise UsageError("standard input can be read once", where="-", remedy="name files")
    found = {path: _why_unreadable(path) for path in (*paths, *others)}
    kept = [path for path in paths if found[path] is None]
    unread = [error for path in dict.fromkeys(paths) if (error := found[path]) is not None]
    unusable = [error for path in dict.fromkeys(others) if (error := found[path]) is not None]
    if unusable or not kept:
        raise_all([*unusable, *unread])
    return kept, unread


def _why_unreadable(path: str) -> InputError | None:
    """Why a file is missing, a folder, or may not be read; ``None`` if it can be read."""
    import os

    from trectools_plus.formats.files.opening import check_readable
    from trectools_plus.formats.files.remote import is_address

    if path == "-":
        return None
    if is_address(path):
        try:
            check_readable(path)
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
