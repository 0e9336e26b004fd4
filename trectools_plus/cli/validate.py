"""``runs validate`` and ``qrels validate``: check files before anybody scores them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
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
from trectools_plus.cli.validate_sides import Sides

if TYPE_CHECKING:
    from trectools_plus.validation.findings import FileReport
    from trectools_plus.validation.fixes import FixSummary
    from trectools_plus.validation.profiles import Choices


class Dedup(StrEnum):
    """Which row of a repeated document stays."""

    BEST = "best"
    FIRST = "first"
    LAST = "last"


class OnConflict(StrEnum):
    """Which grade of a document judged twice stays."""

    MAX = "max"
    MIN = "min"
    LAST = "last"


def runs_validate(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Run files; - is standard input.")
    ],
    qrels: Annotated[
        str | None, typer.Option(metavar="FILE", help="Check ids against these judgments.")
    ] = None,
    topics: Annotated[
        str | None, typer.Option(metavar="FILE", help="Check that these queries are answered.")
    ] = None,
    docids: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Check documents against this list, an id a line."),
    ] = None,
    docid_pattern: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="Check that document ids look like this as a whole."),
    ] = None,
    max_depth: Annotated[
        int | None,
        typer.Option(min=1, help="Results allowed per query: 100, or 1000 in profile trec."),
    ] = None,
    max_tag_length: Annotated[
        int | None,
        typer.Option(min=1, help="Characters allowed in the tag: 64, or 25 for submissions."),
    ] = None,
    profile: ProfileName = None,
    select: Select = None,
    ignore: Ignore = None,
    strict: Strict = None,
    every: Every = False,
    statistics: Statistics = False,
    output_format: Format = OutputFormat.TEXT,
    fix: FixValues = None,
    diff: Diff = False,
    dedup: Annotated[
        Dedup, typer.Option(help="For --fix R131: which row of a repeated document stays.")
    ] = Dedup.BEST,
    tag: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="For --fix R101, R151, R152: the tag to write."),
    ] = None,
    encoding: Encoding = None,
    config: Config = None,
) -> None:
    """Check TREC run files: columns, scores, ranks, duplicates, ties, depth, coverage.

    Every problem is reported in one pass, once per rule and file, with its line and what to do.
    Leaves with 0 if there is no error, 1 if there is one, 2 if a file cannot be read.
    Settings come from [tool.trectools-plus.validate] in the nearest pyproject.toml, or [validate]
    in trectools.toml.

    \b
    Examples:
      trectools-plus runs validate base.run
      trectools-plus runs validate *.run --qrels qrels.txt --profile trec
      trectools-plus runs validate base.run --format json --ignore R123,R106
      trectools-plus runs validate base.run --fix fixed.run --fix R152 --diff
    """
    output = Output(output_format, every, statistics, fix or (), diff)
    choices = settle(
        config,
        profile=profile,
        select=select,
        ignore=ignore,
        strict=strict,
        max_depth=max_depth,
        max_tag_length=max_tag_length,
    )
    runs, unread = readable(runs, (qrels, topics, docids))
    limits = choices.profile
    sides = Sides(qrels, topics=topics, docids=docids, docid_pattern=docid_pattern)

    def mend(path: str, target: str, codes: tuple[str, ...]) -> FixSummary:
        from trectools_plus.validation.fixes import FixOptions, fix_run

        longest = limits.max_tag_length
        ways = FixOptions(encoding, tag, dedup.value, max_tag_length=longest)
        depth = limits.max_depth
        return fix_run(path, target, codes=codes, max_depth=depth, options=ways, qrels=qrels)

    mender = Mender(output, runs, mend, (qrels, topics, docids, choices.settings_file))
    reports = _check_runs(map(mender.mended, runs), sides, choices, every=every)
    finish(reports, choices, output, n_files=len(runs), mender=mender, unread=unread)


def _check_runs(
    runs: Iterable[str], sides: Sides, choices: Choices, *, every: bool
) -> Iterator[FileReport]:
    """Reports on runs, one by one, and on qrels and topics if they hold an error."""
    from trectools_plus.validation.engine import open_qrels, report_view, validate_run
    from trectools_plus.validation.findings import FileReport
    from trectools_plus.validation.views.qrels import QrelsView

    topics, documents = sides.read_topics(choices), sides.read_documents()
    judgments = None if sides.qrels is None else open_qrels(sides.qrels)
    view = judgments if isinstance(judgments, QrelsView) else None
    for run in runs:
        yield validate_run(
            run,
            qrels=view,
            topics=None if isinstance(topics, FileReport) else topics,
            max_depth=choices.profile.max_depth,
            max_tag_length=choices.profile.max_tag_length,
            every_line=every,
            optional_rules=choices.optional_rules,
            collection=documents,
        )
    # The qrels are not what was asked about, but no run can be scored against broken ones.
    if view is not None:
        view.every_line = every
        judgments = report_view(view)
    if isinstance(judgments, FileReport) and judgments.errors:
        yield judgments
    if isinstance(topics, FileReport):
        yield topics


def qrels_validate(
    qrels: Annotated[
        list[str], typer.Argument(metavar="QRELS...", help="Qrels files; - is standard input.")
    ],
    run: Annotated[
        str | None, typer.Option(metavar="FILE", help="Check ids against this run.")
    ] = None,
    topics: Annotated[
        str | None, typer.Option(metavar="FILE", help="Check query ids against these topics.")
    ] = None,
    profile: ProfileName = None,
    select: Select = None,
    ignore: Ignore = None,
    strict: Strict = None,
    every: Every = False,
    statistics: Statistics = False,
    output_format: Format = OutputFormat.TEXT,
    fix: FixValues = None,
    diff: Diff = False,
    on_conflict: Annotated[
        OnConflict, typer.Option(help="For --fix Q142: which grade of a document stays.")
    ] = OnConflict.MAX,
    subtopic: Annotated[
        str | None,
        typer.Option(metavar="ID", help="For --fix Q143: keep this subtopic; else all merge."),
    ] = None,
    encoding: Encoding = None,
    config: Config = None,
) -> None:
    """Check relevance judgments: columns, grades, conflicts, queries with nothing relevant.

    Every problem is reported in one pass, once per rule and file, with its line and what to do.
    Leaves with 0 if there is no error, 1 if there is one, 2 if a file cannot be read.
    Settings come from [tool.trectools-plus.validate] in the nearest pyproject.toml, or [validate]
    in trectools.toml.

    \b
    Examples:
      trectools-plus qrels validate qrels.txt
      trectools-plus qrels validate qrels.txt --run base.run --strict
      trectools-plus qrels validate qrels.txt --fix fixed.txt --fix Q101
    """
    output = Output(output_format, every, statistics, fix or (), diff)
    choices = settle(config, profile=profile, select=select, ignore=ignore, strict=strict)
    qrels, unread = readable(qrels, (run, topics))

    def mend(path: str, target: str, codes: tuple[str, ...]) -> FixSummary:
        from trectools_plus.validation.fixes import FixOptions, fix_qrels

        ways = FixOptions(encoding=encoding, on_conflict=on_conflict.value, subtopic=subtopic)
        return fix_qrels(path, target, codes=codes, options=ways, run=run)

    mender = Mender(output, qrels, mend, (run, topics, choices.settings_file))
    sides = Sides(topics=topics, run=run)
    reports = _check_qrels(map(mender.mended, qrels), sides, choices, every=every)
    finish(reports, choices, output, n_files=len(qrels), mender=mender, unread=unread)


def _check_qrels(
    qrels: Iterable[str], sides: Sides, choices: Choices, *, every: bool
) -> Iterator[FileReport]:
    """Reports on qrels, one by one, and on run and topics if they hold an error."""
    from trectools_plus.validation.engine import open_run, report_view, validate_qrels
    from trectools_plus.validation.findings import FileReport
    from trectools_plus.validation.views.runs import RunView

    topics = sides.read_topics(choices)
    known = None if isinstance(topics, FileReport) else topics
    # The run was not asked about, so its depth is not either.
    results = None if sides.run is None else open_run(sides.run, None)
    view = results if isinstance(results, RunView) else None
    for path in qrels:
        yield validate_qrels(path, run=view, topics=known, every_line=every)
    # What is missing in a broken run says nothing about the qrels.
    if view is not None:
        view.every_line = every
        results = report_view(view)
    if isinstance(results, FileReport) and results.errors:
        yield results
    if isinstance(topics, FileReport):
        yield topics
