"""``qrels …`` and ``topics …``: the files that runs are checked against."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from trectools_plus import formats, validation
from trectools_plus.choices import QrelsFormat
from trectools_plus.cli.options.common import Columns, TopicFieldOptions
from trectools_plus.cli.options.validation import CheckOptions, Fix
from trectools_plus.cli.validation import Output, check_files, fix_file, report_conversion
from trectools_plus.cli.verbosity import note


def qrels_validate(
    qrels: Annotated[
        list[str], Argument(metavar="QRELS...", help="Qrels files; - is standard input.")
    ],
    options: CheckOptions,
    columns: Columns = None,
    fix: Fix = None,
) -> None:
    """Report every problem in one pass, once per rule and file, with its line and a remedy.
    runs validate RUN --qrels QRELS also compares ids with those of a run.

    Exit code: 0 if there is no error, 1 if there is one, 2 if a file cannot be read.
    Settings come from [tool.trectools-plus.validate] in the nearest pyproject.toml, or [validate]
    in trectools.toml.

    \b
    Examples:
      trectools-plus qrels validate qrels.txt --strict
      trectools-plus qrels validate qrels.txt --fix fixed.txt
    """
    choices, names = options.choices(), formats.column_names(columns)

    def check(path: str) -> validation.FileReport:
        opened = path if names is None else validation.open_qrels(path, names)
        if isinstance(opened, validation.FileReport):
            return opened
        return validation.validate_qrels(opened, every_line=options.every)

    fixed = None
    if fix:
        inputs = (choices.settings_file,)
        fixed = fix_file(fix, qrels, validation.fix_qrels, columns=columns, inputs=inputs)
    check_files(qrels, check, choices, options, fixed=fixed)


def qrels_convert(
    qrels: Annotated[str, Argument(metavar="QRELS", help="Qrels file; - is standard input.")],
    output: Output = "-",
    source_format: Annotated[
        QrelsFormat | None, Option("--from", help="Format of QRELS.  [default: detected]")
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


def topics_validate(
    topics: Annotated[
        list[str],
        Argument(metavar="FILE...", help="Files of topics or test sets; - is standard input."),
    ],
    fields: TopicFieldOptions,
    options: CheckOptions,
    fix: Fix = None,
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
    choices, read = options.choices(), fields.options()

    def check(path: str) -> validation.FileReport:
        report = validation.validate_topics(path, every_line=options.every, options=read)
        if report.read_as is not None:
            note(f"{path} {report.read_as}")
        return report

    fixed = None
    if fix:
        fixed = fix_file(fix, topics, validation.fix_topics, inputs=(choices.settings_file,))
    check_files(topics, check, choices, options, fixed=fixed)
