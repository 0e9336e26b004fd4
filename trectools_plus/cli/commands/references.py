"""``qrels …`` and ``topics …``: the files that runs are checked against."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from trectools_plus import formats, validation
from trectools_plus.cli.options.common import Columns, TopicFieldOptions
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.runs import check_standard_input
from trectools_plus.cli.options.validation import FixOutputOptions, RuleOptions
from trectools_plus.cli.validation import (
    Fixer,
    Output,
    check_files,
    read_topics,
    report_conversion,
)
from trectools_plus.cli.verbosity import note


@with_groups
def qrels_validate(
    *,
    qrels: Annotated[
        list[str], typer.Argument(metavar="QRELS...", help="Qrels files; - is standard input.")
    ],
    run: Annotated[
        str | None, typer.Option(metavar="FILE", help="Check query and document ids against a run.")
    ] = None,
    topics: Annotated[
        str | None, typer.Option(metavar="FILE", help="Check query ids against topics.")
    ] = None,
    columns: Columns = None,
    fields: TopicFieldOptions,
    rules: RuleOptions,
    output: FixOutputOptions,
) -> None:
    """Report every problem in one pass, once per rule and file, with its line and a remedy.

    Exit code: 0 if there is no error, 1 if there is one, 2 if a file cannot be read.
    Settings come from [tool.trectools-plus.validate] in the nearest pyproject.toml, or [validate]
    in trectools.toml.

    \b
    Examples:
      trectools-plus qrels validate qrels.txt
      trectools-plus qrels validate qrels.txt --run base.run --strict
      trectools-plus qrels validate qrels.txt --fix fixed.txt --diff
    """
    check_standard_input([*qrels, run, topics])
    choices, names = rules.choices(), formats.column_names(columns)

    fixer = Fixer(output, qrels, columns, _fix_qrels, (run, topics, choices.settings_file))
    queries = read_topics(topics, fields.options(), choices)
    # The run is only a reference: do not check its depth.
    results = None if run is None else validation.open_run(run, None)

    def check(path: str) -> validation.FileReport:
        opened = path if names is None else validation.open_qrels(path, names)
        if isinstance(opened, validation.FileReport):
            return opened
        return validation.validate_qrels(
            opened,
            run=results if isinstance(results, validation.RunView) else None,
            topics=None if isinstance(queries, validation.FileReport) else queries,
            every_line=output.every,
        )

    check_files(qrels, check, choices, output, fixer=fixer, against=(results, queries))


def qrels_convert(
    qrels: Annotated[str, typer.Argument(metavar="QRELS", help="Qrels file; - is standard input.")],
    output: Output = "-",
    source_format: Annotated[
        Literal[
            "csv",
            "tsv",
            "beir",
            "json",
            "msmarco",
            "prels",
            "smart",
            "ntcir",
            "letor",
            "trec-rag",
            "trec",
        ]
        | None,
        typer.Option("--from", help="Format of QRELS.  [default: detected]"),
    ] = None,
    columns: Columns = None,
) -> None:
    """csv, tsv and beir have a header with the names of the columns; json is {query_id: {doc_id:
    grade}}, a list of objects, or an object per line; msmarco is 'qid pid grade'; prels has five
    columns, with the method and probability of sampling; smart is qrels.text, 'qid docid 0 0';
    ntcir has grades L0 to L3; letor is 'grade qid:1 1:0.5 # docid = d1'; trec-rag is the JSON Lines
    of TREC RAG. Other columns without a header are named by --columns. Qrels with errors are
    refused.

    \b
    Examples:
      qrels convert judgments.csv --output qrels.txt
      qrels convert prels.20001-60000 --from prels > qrels.txt
    """
    names = formats.column_names(columns)
    converted = validation.convert_qrels(qrels, source_format=source_format, columns=names)
    formats.write_qrels(converted.table, output)
    report_conversion(converted, qrels, output)


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
      trectools-plus topics validate topics.tsv --fix fixed.tsv
    """
    choices, options = rules.choices(), fields.options()

    def check(path: str) -> validation.FileReport:
        report = validation.validate_topics(path, every_line=output.every, options=options)
        if report.read_as is not None:
            note(f"{path} {report.read_as}")
        return report

    fixer = Fixer(output, topics, None, validation.fix_topics, (choices.settings_file,))
    check_files(topics, check, choices, output, fixer=fixer)


def _fix_qrels(path: str, target: str, *, codes: tuple[str, ...]) -> validation.FixSummary:
    return validation.fix_qrels(path, target, codes=codes)  # imported when it is needed
