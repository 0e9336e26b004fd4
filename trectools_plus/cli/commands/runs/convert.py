"""``runs convert``."""

from __future__ import annotations

from typing import Annotated

import typer

from trectools_plus import formats, validation
from trectools_plus.choices import RunFormat
from trectools_plus.cli.validation import Output, report_conversion


def runs_convert(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run file; - is standard input.")],
    output: Output = "-",
    source_format: Annotated[
        RunFormat | None, typer.Option("--from", help="Format of RUN.  [default: detected]")
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Tag to write.  [default: that of RUN, or its name]"),
    ] = None,
) -> None:
    """csv and tsv have a header with the names of the columns; json is {query_id: {doc_id: score}},
    a list of objects, or an object per line; msmarco is 'qid pid rank', with or without a score;
    scores is 'qid docid score'; trec-rag is the JSON Lines of TREC RAG. If there are no scores, the
    negated ranks are the scores. A run with errors is refused.

    \b
    Examples:
      runs convert results.csv --output my.run
      runs convert run.dev.tsv --from msmarco --tag bm25 > my.run
    """
    if output != "-":
        validation.refuse_overwriting(output, (run,))
    converted = validation.convert_run(run, source_format=source_format, tag=tag)
    formats.write_run(converted.table, output)
    report_conversion(converted, run, output)
