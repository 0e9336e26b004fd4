"""Options that all ``… validate`` commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from trectools_plus import validation
from trectools_plus.choices import FindingsFormat
from trectools_plus.text import split_list


@dataclass(frozen=True)
class CheckOptions:
    """Options that choose rules and their severities, and the output of findings."""

    profile: Annotated[
        str | None,
        Option(
            metavar="NAME", help="Profile of severities and limits: default, trec or submission."
        ),
    ] = None
    select: Annotated[
        list[str] | None,
        Option(
            metavar="CODES",
            help="Check only these rules: codes, prefixes of codes or names, comma-separated, for "
            "example R131,Q1,crlf.",
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        Option(metavar="CODES", help="Do not check these rules, written as for --select."),
    ] = None
    strict: Annotated[
        bool | None, Option("--strict/--no-strict", help="Fail the check on warnings too.")
    ] = None
    config: Annotated[
        Path | None,
        Option(
            help="Settings file.  [default: the nearest pyproject.toml or trectools.toml]",
        ),
    ] = None
    every: Annotated[
        bool, Option("--all", help="List every line of a finding, not only the first few.")
    ] = False
    output_format: Annotated[
        FindingsFormat, Option("--format", help="Output format of the findings.")
    ] = "text"

    def choices(self, max_depth: int | None = None) -> validation.Choices:
        """Merge the options and the settings file; an option overrides the file.

        Raises:
            UsageError: If a profile, a code, or a key of the settings does not exist.
            InputError: If the settings file cannot be read.
        """
        named = None if self.config is None else validation.read_settings(self.config)
        options = validation.Settings(
            profile=self.profile,
            max_depth=max_depth,
            select=tuple(split_list(",".join(self.select or ()))),
            ignore=tuple(split_list(",".join(self.ignore or ()))),
            strict=self.strict,
        )
        return validation.resolve_choices(named or validation.find_settings(Path.cwd()), options)


Fix = Annotated[
    list[str] | None,
    Option(
        "--fix",
        metavar="OUT|CODES",
        help="Write a copy of the file with all safe fixes to OUT. Repeat the option with the "
        "codes of rules to apply their fixes too: --fix OUT --fix R152.",
    ),
]
