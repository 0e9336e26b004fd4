"""``topics validate``."""

from __future__ import annotations

from typing import Annotated

import typer

from trectools_plus import validation
from trectools_plus.cli.options.common import TopicFieldOptions
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.validation import FixOutputOptions, RuleOptions, find_readable
from trectools_plus.cli.validation import Fixer, finish
from trectools_plus.cli.verbosity import note


@with_groups
def topics_validate(
    *,
    topics: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Files of topics or test sets; - is standard input."
        ),
    ],
    fields: TopicFieldOptions,
    rules: RuleOptions,
    output: FixOutputOptions,
) -> None:
    """Report every problem in one pass, once per rule and file, with its line and a remedy. Ids and
    texts are checked as written: the check also finds values that YAML reads as a number, a date
    or a boolean, and keys that occur twice.

    Exit code: 0 if there is no error, 1 if there is one, 2 if a file cannot be read.
    Settings come from [tool.trectools-plus.validate] in the nearest pyproject.toml, or [validate]
    in trectools.toml.

    \b
    Examples:
      trectools-plus topics validate topics.tsv
      trectools-plus topics validate testset.yaml --strict --format json
      trectools-plus topics validate topics.xml --text-fields disease,gene
      trectools-plus topics validate topics.tsv --fix fixed.tsv --fix T113
    """
    choices = rules.choices()
    topics, unread = find_readable(topics)

    def fix(path: str, target: str, codes: tuple[str, ...]) -> validation.FixSummary:
        options = validation.FixOutputOptions(encoding=output.encoding)
        return validation.fix_topics(path, target, codes=codes, options=options)

    fixer = Fixer(output, topics, fix, (choices.settings_file,))
    options = fields.options()

    def check(path: str) -> validation.FileReport:
        report = validation.validate_topics(path, every_line=output.every, options=options)
        if report.read_as is not None:
            note(f"{path} {report.read_as}")
        return report

    reports = (check(fixer.fixed(path)) for path in topics)
    finish(reports, choices, output, n_files=len(topics), fixer=fixer, unread=unread)
