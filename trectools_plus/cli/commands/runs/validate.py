"""``runs validate``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import formats, validation
from trectools_plus.blas import load_numpy_without_threads
from trectools_plus.cli.options.common import Columns, TopicFieldOptions
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.validation import (
    FIXES,
    FixOutputOptions,
    RuleOptions,
    find_readable,
)
from trectools_plus.cli.validation import (
    Fixer,
    References,
    finish,
    refuse_columns_of_fixes,
    report_references,
)

_LIMITS = "Further checks and limits"


@with_groups
def runs_validate(
    *,
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Run files; - is standard input.")
    ],
    qrels: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Check query and document ids against judgments."),
    ] = None,
    topics: Annotated[
        str | None, typer.Option(metavar="FILE", help="Check that all topics have results.")
    ] = None,
    docids: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Check document ids against a list with one id per line.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    docid_pattern: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Check that a regular expression matches each whole document id.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    max_depth: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum number of results per query.  [default: 100; 1000 in profile trec]",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    max_tag_length: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum length of the tag in characters.  [default: 64; 25 in profile "
            "submission]",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    columns: Columns = None,
    fields: TopicFieldOptions,
    rules: RuleOptions,
    output: FixOutputOptions,
    tag: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="For --fix R151, R152: tag to write.",
            rich_help_panel=FIXES,
        ),
    ] = None,
) -> None:
    """Report every problem in one pass, once per rule and file, with its line and a remedy.

    Exit code: 0 if there is no error, 1 if there is one, 2 if a file cannot be read.
    Settings come from [tool.trectools-plus.validate] in the nearest pyproject.toml, or [validate]
    in trectools.toml.

    \b
    Examples:
      trectools-plus runs validate base.run
      trectools-plus runs validate *.run --qrels qrels.txt --profile trec
      trectools-plus runs validate base.run --format json --ignore R123,R106
      trectools-plus runs validate base.run --fix fixed.run --fix R152 --diff
    """
    load_numpy_without_threads()
    choices = rules.choices(max_depth=max_depth, max_tag_length=max_tag_length)
    runs, unread = find_readable(runs, (qrels, topics, docids))
    limits = choices.profile
    references = References(
        qrels,
        topics=topics,
        topic_options=None if topics is None else fields.options(),
        docids=docids,
        docid_pattern=docid_pattern,
        columns=formats.column_names(columns),
    )
    refuse_columns_of_fixes(references.columns, output)

    options = validation.FixOptions(tag, limits.max_tag_length)
    fix = partial(validation.fix_run, options=options)
    fixer = Fixer(output, runs, fix, (qrels, topics, docids, choices.settings_file))
    reports = _check(map(fixer.fixed, runs), references, choices, every=output.every)
    finish(reports, choices, output, n_files=len(runs), fixer=fixer, unread=unread)


def _check(
    runs: Iterable[str], references: References, choices: validation.Choices, *, every: bool
) -> Iterator[validation.FileReport]:
    """Yield the report on each run, and reports on qrels and topics that have errors."""
    topics, documents = references.read_topics(choices), references.read_documents()
    limits = choices.profile
    judgments = None if references.qrels is None else references.open_qrels()
    for run in runs:
        opened: str | validation.RunView | validation.FileReport = run
        if references.columns is not None:
            columns = formats.columns_for_run(references.columns)
            opened = validation.open_run(run, limits.max_depth, columns=columns)
        if isinstance(opened, validation.FileReport):
            yield opened
            continue
        yield validation.validate_run(
            opened,
            qrels=judgments if isinstance(judgments, validation.QrelsView) else None,
            topics=None if isinstance(topics, validation.FileReport) else topics,
            max_depth=limits.max_depth,
            every_line=every,
            max_tag_length=limits.max_tag_length,
            optional_rules=choices.optional_rules,
            collection=documents,
        )
    yield from report_references(judgments, topics, every=every)
