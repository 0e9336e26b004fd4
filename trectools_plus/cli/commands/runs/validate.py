"""``runs validate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import formats, validation
from trectools_plus.cli.options.common import Columns, TopicFieldOptions
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.runs import check_standard_input
from trectools_plus.cli.options.validation import FIXES, FixOutputOptions, RuleOptions
from trectools_plus.cli.validation import Fixer, check_files, read_topics

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
    check_standard_input([*runs, qrels, topics, docids])
    choices = rules.choices(max_depth=max_depth)
    limits, names = choices.profile, formats.column_names(columns)

    def fix(path: str, target: str, *, codes: tuple[str, ...]) -> validation.FixSummary:
        options = validation.FixOptions(tag, limits.max_tag_length)
        return validation.fix_run(path, target, codes=codes, options=options)

    fixer = Fixer(output, runs, columns, fix, (qrels, topics, docids, choices.settings_file))
    queries = read_topics(topics, fields.options(), choices)
    documents = None
    if docids is not None or docid_pattern is not None:
        ids = None if docids is None else validation.read_document_ids(docids)
        documents = validation.DocumentIds(ids, docid_pattern)
    judgments = None
    if qrels is not None:
        judgments = validation.open_qrels(qrels, formats.columns_for_qrels(names))

    def check(path: str) -> validation.FileReport:
        opened: str | validation.RunView | validation.FileReport = path
        if names is not None:
            of_run = formats.columns_for_run(names)
            opened = validation.open_run(path, limits.max_depth, columns=of_run)
        if isinstance(opened, validation.FileReport):
            return opened
        return validation.validate_run(
            opened,
            qrels=judgments if isinstance(judgments, validation.QrelsView) else None,
            topics=None if isinstance(queries, validation.FileReport) else queries,
            max_depth=limits.max_depth,
            every_line=output.every,
            max_tag_length=limits.max_tag_length,
            optional_rules=choices.optional_rules,
            collection=documents,
        )

    check_files(runs, check, choices, output, fixer=fixer, against=(judgments, queries))
