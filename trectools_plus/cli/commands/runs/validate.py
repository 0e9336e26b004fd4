"""``runs validate``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from trectools_plus import formats, validation
from trectools_plus.cli.options.common import Columns, TopicFieldOptions
from trectools_plus.cli.options.runs import check_standard_input
from trectools_plus.cli.options.validation import CheckOptions, Fix
from trectools_plus.cli.validation import check_files, fix_file
from trectools_plus.cli.verbosity import note


def runs_validate(
    runs: Annotated[list[str], Argument(metavar="RUN...", help="Run files; - is standard input.")],
    fields: TopicFieldOptions,
    options: CheckOptions,
    qrels: Annotated[
        str | None, Option(metavar="FILE", help="Check query and document ids against judgments.")
    ] = None,
    topics: Annotated[
        str | None, Option(metavar="FILE", help="Check that all topics have results.")
    ] = None,
    docids: Annotated[
        Path | None,
        Option(help="Check document ids against a list with one id per line."),
    ] = None,
    docid_pattern: Annotated[
        str | None,
        Option(
            metavar="REGEX",
            help="Check that a regular expression matches each whole document id.",
        ),
    ] = None,
    max_depth: Annotated[
        int | None,
        Option(
            min=1,
            help="Maximum number of results per query.  [default: 100; 1000 in profile trec]",
        ),
    ] = None,
    columns: Columns = None,
    fix: Fix = None,
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
      trectools-plus runs validate base.run --fix fixed.run --fix R152
    """
    check_standard_input([*runs, qrels, topics, docids])
    choices = options.choices(max_depth)
    limits, names, fixed = choices.profile, formats.column_names(columns), None
    if fix:
        settings = validation.FixOptions(max_tag_length=limits.max_tag_length)
        fix_run = partial(validation.fix_run, options=settings)
        inputs = (qrels, topics, docids, choices.settings_file)
        fixed = fix_file(fix, runs, fix_run, columns=columns, inputs=inputs)
    queries = None if topics is None else formats.read_topics(topics, fields.options())
    if queries is not None and queries.read_as is not None:
        note(f"{topics} {queries.read_as}")
    collection = judgments = None
    if docids is not None or docid_pattern is not None:
        ids = None if docids is None else validation.read_document_ids(docids)
        collection = validation.DocumentIds(ids, docid_pattern)
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
            topics=queries,
            max_depth=limits.max_depth,
            every_line=options.every,
            max_tag_length=limits.max_tag_length,
            optional_rules=choices.optional_rules,
            collection=collection,
        )

    check_files(runs, check, choices, options, fixed=fixed, against=judgments)
