"""``topics validate``: check queries and test sets before anybody searches with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from trectools_plus.cli.validate_fix import Mender
from trectools_plus.cli.validate_options import (
    Config,
    Diff,
    Encoding,
    Every,
    FixValues,
    Format,
    Ignore,
    Output,
    OutputFormat,
    ProfileName,
    Select,
    Statistics,
    Strict,
    readable,
    settle,
)
from trectools_plus.cli.validate_output import finish

if TYPE_CHECKING:
    from trectools_plus.validation.fixes import FixSummary


def topics_validate(
    topics: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Topics or test sets; - is standard input."),
    ],
    profile: ProfileName = None,
    select: Select = None,
    ignore: Ignore = None,
    strict: Strict = None,
    every: Every = False,
    statistics: Statistics = False,
    output_format: Format = OutputFormat.TEXT,
    fix: FixValues = None,
    diff: Diff = False,
    encoding: Encoding = None,
    config: Config = None,
) -> None:
    """Check topics (TSV, JSON Lines, TREC SGML, XML) and test sets (YAML, JSON).

    Ids and texts are looked at as they are written: what YAML would read as a number, a date or
    a boolean is found, and so is a key that stands twice.
    Every problem is reported in one pass, once per rule and file, with its line and what to do.
    Leaves with 0 if there is no error, 1 if there is one, 2 if a file cannot be read.
    Settings come from [tool.trectools-plus.validate] in the nearest pyproject.toml, or [validate]
    in trectools.toml.

    \b
    Examples:
      trectools-plus topics validate topics.tsv
      trectools-plus topics validate testset.yaml --strict --format json
      trectools-plus topics validate topics.tsv --fix mended.tsv --fix T113
    """
    output = Output(output_format, every, statistics, fix or (), diff)
    choices = settle(config, profile=profile, select=select, ignore=ignore, strict=strict)
    topics, unread = readable(topics)

    from trectools_plus.validation.topics.engine import validate_topics

    def mend(path: str, target: str, codes: tuple[str, ...]) -> FixSummary:
        from trectools_plus.validation.fixes import FixOptions, fix_topics

        return fix_topics(path, target, codes=codes, options=FixOptions(encoding=encoding))

    mender = Mender(output, topics, mend, (choices.settings_file,))
    reports = (validate_topics(mender.mended(path), every_line=every) for path in topics)
    finish(reports, choices, output, n_files=len(topics), mender=mender, unread=unread)
