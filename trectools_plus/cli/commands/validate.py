"""Commands that check files: ``validate`` of runs, qrels, topics and test sets."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from trectools_plus import formats, validation
from trectools_plus.cli.options import Columns, OntologyFile, TopicFieldOptions
from trectools_plus.cli.printing import inform, note
from trectools_plus.errors import (
    CheckFailedError,
    InputError,
    TrectoolsPlusError,
    UsageError,
    raise_all,
)
from trectools_plus.text import split_list

_COUNTED = ("R115", "R123", "R126")
"""Infos on most runs of usual tools, of which the text shows only the number."""


@dataclass(frozen=True)
class CheckOptions:
    """Options that choose rules and their severities, and the output of findings."""

    profile: Annotated[
        str | None,
        Option(help="Profile of severities and limits: default, trec or submission."),
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
    strict: Annotated[bool, Option("--strict", help="Fail the check on warnings too.")] = False
    every_line: Annotated[
        bool, Option("--all", help="List every line of a finding, not only the first few.")
    ] = False
    output_format: Annotated[
        Literal["text", "json", "github"], Option("--format", help="Output format of the findings.")
    ] = "text"

    def choices(self, max_depth: int | None = None) -> validation.Choices:
        """Return the choices.

        Raises:
            UsageError: If a profile or a code does not exist.
        """
        select, ignore = (split_list(",".join(codes or ())) for codes in (self.select, self.ignore))
        return validation.Choices.of(
            self.profile, select, ignore, max_depth=max_depth, strict=self.strict
        )


Fix = Annotated[
    list[str] | None,
    Option(
        "--fix",
        metavar="OUT|CODES",
        help="Write a copy of the file with all safe fixes to OUT. Repeat the option with the "
        "codes of rules to apply their fixes too: --fix OUT --fix R152.",
    ),
]


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

    \b
    Examples:
      trectools-plus runs validate base.run
      trectools-plus runs validate *.run --qrels qrels.txt --profile trec
      trectools-plus runs validate base.run --format json --ignore R123,R106
      trectools-plus runs validate base.run --fix fixed.run --fix R152
    """
    choices = options.choices(max_depth)
    depth, names = choices.max_depth, formats.column_names(columns)
    inputs = (qrels, topics, docids)
    longest, fixed = choices.max_tag_length, None
    if fix:
        fix_run = partial(validation.fix_run, max_tag_length=longest)
        fixed = fix_file(fix, runs, fix_run, columns, inputs)
    queries = None if topics is None else formats.read_topics(topics, fields.options())
    collection = None if docids is None else validation.read_document_ids(docids)
    judgments = None
    if qrels is not None:
        judgments = validation.open_qrels(qrels, formats.columns_for_qrels(names))

    def check(path: str) -> validation.FileReport:
        opened: str | validation.RunView | validation.FileReport = path
        if names is not None:
            of_run = formats.columns_for_run(names)
            opened = validation.open_run(path, depth, columns=of_run)
        if isinstance(opened, validation.FileReport):
            return opened
        return validation.validate_run(
            opened,
            qrels=judgments if isinstance(judgments, validation.QrelsView) else None,
            topics=queries,
            max_depth=depth,
            max_tag_length=longest,
            every_line=options.every_line,
            optional_rules=bool(choices.select),
            collection=collection,
        )

    check_files(runs, check, choices, options, fixed=fixed, against=judgments)


def qrels_validate(
    qrels: Annotated[
        list[str], Argument(metavar="QRELS...", help="Qrels files; - is standard input.")
    ],
    options: CheckOptions,
    run: Annotated[
        str | None, Option(metavar="FILE", help="Check query and document ids against a run.")
    ] = None,
    columns: Columns = None,
    fix: Fix = None,
) -> None:
    """Report every problem in one pass, once per rule and file, with its line and a remedy.

    Exit code: 0 if there is no error, 1 if there is one, 2 if a file cannot be read.

    \b
    Examples:
      trectools-plus qrels validate qrels.txt --run base.run --strict
      trectools-plus qrels validate qrels.txt --fix fixed.txt
    """
    choices, names = options.choices(), formats.column_names(columns)
    # The run is only a reference: do not check its depth.
    other = None if run is None else validation.open_run(run, None)

    def check(path: str) -> validation.FileReport:
        opened = path if names is None else validation.open_qrels(path, names)
        if isinstance(opened, validation.FileReport):
            return opened
        results = other if isinstance(other, validation.RunView) else None
        return validation.validate_qrels(opened, run=results, every_line=options.every_line)

    fixed = fix_file(fix, qrels, validation.fix_qrels, columns, [run]) if fix else None
    check_files(qrels, check, choices, options, fixed=fixed, against=other)


def topics_validate(
    topics: Annotated[
        list[str],
        Argument(metavar="FILE...", help="Files of topics or test sets; - is standard input."),
    ],
    fields: TopicFieldOptions,
    options: CheckOptions,
) -> None:
    """Report every problem in one pass, once per rule and file, with its line and a remedy. Ids and
    texts are checked as written: the check also finds values that YAML reads as a number, a date
    or a boolean, and keys that occur twice.

    Exit code: 0 if there is no error, 1 if there is one, 2 if a file cannot be read.

    \b
    Examples:
      trectools-plus topics validate topics.tsv
      trectools-plus topics validate testset.yaml --strict --format json
      trectools-plus topics validate topics.xml --text-fields disease,gene
    """
    choices, read = options.choices(), fields.options()

    def check(path: str) -> validation.FileReport:
        return validation.validate_topics(path, every_line=options.every_line, options=read)

    check_files(topics, check, choices, options)


def validate_testset(
    sets: Annotated[
        list[str],
        Argument(metavar="SET...", help="Test sets: files or shipped names; - is standard input."),
    ],
    options: CheckOptions,
    ontology: OntologyFile = None,
) -> None:
    """Check all rules of `topics validate`, and rules that need an ontology or the other parts of
    a split: unknown and obsolete term ids (with the replacement), grades outside 0 to 3, queries
    without a relevant term, texts that are nearly the same in a set, or equal in two.

    Exit code: 0 if there is no error, 1 if there is one, 2 if a file cannot be read.

    \b
    Examples:
      trectools-plus testset validate mine.json
      trectools-plus testset validate parts/mine-used.json parts/mine-held-out.json
      trectools-plus testset validate mine.yaml --ontology hp.obo --format json
    """
    from trectools_plus import testsets

    parts: list[testsets.TopicsView] = []
    unchecked: list[str] = []

    def check(name: str) -> validation.FileReport:
        return testsets.check_test_set(
            name,
            parts,
            ontology=ontology,
            drops_unknown_terms=False,
            every_line=options.every_line,
            unchecked=unchecked.append,
        )

    try:
        check_files(sets, check, options.choices(), options)
    finally:
        if unchecked:
            note(
                f"term ids of {', '.join(unchecked)} were not looked up: install "
                "trectools-plus[hpo], or name an ontology with --ontology"
            )


def fix_file(
    values: Sequence[str],
    paths: Sequence[str],
    fix: Callable[..., validation.FixSummary],
    columns: list[str] | None,
    inputs: Sequence[str | Path | None],
) -> validation.FixSummary:
    """Write a fixed copy of a file, and print the fixes.

    Args:
        values: The values of ``--fix``: the file to write, and codes of rules.
        paths: The file.
        fix: Takes the file, the file to write, and the ``codes``.
        columns: The columns of tables with other names, which cannot be fixed.
        inputs: Other files that are read: topics, judgments.

    Raises:
        UsageError: If there are several files or other columns, or the copy would overwrite an
            input.
        CheckFailedError: If standard input, which cannot be read again, is not fixed.
    """
    if columns or len(paths) > 1:
        raise UsageError(
            "--fix takes one file, without --columns",
            where=f"--fix {values[0]}",
            remedy="fix one file at a time; convert a table with runs convert or qrels convert",
        )
    target, codes = validation.split_fix_values(values)
    formats.refuse_overwriting(target, (*paths, *inputs))
    summary = fix(paths[0], target, codes=codes)
    if summary.output is None and summary.path == "-":
        raise CheckFailedError(f"not fixed, nothing written: {summary.refused}", where="-")
    inform(summary.to_text(), newline=False)
    return summary


def check_files(
    paths: Sequence[str],
    check: Callable[[str], validation.FileReport],
    choices: validation.Choices,
    options: CheckOptions,
    *,
    fixed: validation.FixSummary | None = None,
    against: validation.RunView | validation.QrelsView | validation.FileReport | None = None,
) -> None:
    """Check files and write the selected findings of each; exit with 1 if the check fails.

    Files that cannot be read are reported after the others.

    Args:
        paths: The files that the user named.
        check: Returns the report on a file.
        choices: The rules to report, and the severities that fail the check.
        options: The format of the output.
        fixed: The fixes of the only file, whose copy is checked instead.
        against: The other file, which is reported too if it has errors, because nothing can be
            checked or scored against it.

    Raises:
        InputError: If a file cannot be read.
        typer.Exit: With code 1 if a finding fails the check, or nothing could be fixed.
    """
    if fixed and fixed.output:
        paths = [fixed.output]
    unread: list[TrectoolsPlusError] = []
    reports: list[validation.FileReport] = []
    for path in paths:
        try:
            reports.append(choices.apply(check(path)))
        except InputError as error:
            unread.append(error)
    if isinstance(against, validation.RunView | validation.QrelsView):
        against.every_line = options.every_line
        against = validation.report_view(against)
    if against is not None and against.errors:
        reports.append(choices.apply(against))
    if reports:
        _print(reports, choices, options, fixed)
    raise_all(unread)
    if any(map(choices.fails, reports)) or (fixed and not fixed.output):
        raise typer.Exit(1)


def _print(
    reports: Sequence[validation.FileReport],
    choices: validation.Choices,
    options: CheckOptions,
    fixed: validation.FixSummary | None,
) -> None:
    if options.output_format == "text":
        counted = () if choices.select else _COUNTED
        sys.stdout.write(validation.render_text(reports, counted=counted))
    elif options.output_format == "github":
        sys.stdout.write(validation.render_github(reports))
    else:
        document = validation.as_document(reports)
        for file in document["files"] if fixed is not None else ():
            file["fixes"] = fixed.to_dict() if fixed else None
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
