"""Options that all ``… validate`` commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from trectools_plus import validation
from trectools_plus.errors import UsageError
from trectools_plus.text import split_list

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

    def choices(self, *, max_depth: int | None = None) -> validation.Choices:
        """Merge the options and the settings file; an option overrides the file.

        Raises:
            UsageError: If a profile, a code, or a key of the settings does not exist.
            InputError: If the settings file cannot be read.
        """
        named = None if self.config is None else validation.read_settings(self.config)
        settings = named or validation.find_settings(Path.cwd())
        options = validation.Settings(
            profile=self.profile,
            max_depth=max_depth,
            select=tuple(split_list(",".join(self.select or ()))),
            ignore=tuple(split_list(",".join(self.ignore or ()))),
            strict=self.strict,
        )
        return validation.resolve_choices(settings, options)


@dataclass(frozen=True)
class OutputOptions:
    """Options of the printed output."""

    every: Annotated[
        bool, typer.Option("--all", help="List every line of a finding, not only the first few.")
    ] = False
    output_format: Annotated[
        Literal["text", "json", "github"],
        typer.Option("--format", help="Output format of the findings."),
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
