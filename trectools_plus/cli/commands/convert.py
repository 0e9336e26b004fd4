"""Commands that write or summarise runs and qrels: ``convert``, ``fuse`` and ``info``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from trectools_plus import formats, retrieval, validation
from trectools_plus.choices import FusionMethod, Normalisation
from trectools_plus.cli.options import Columns, TextOrJson, numbers
from trectools_plus.cli.printing import note, write_document
from trectools_plus.errors import UsageError
from trectools_plus.text import plural

Output = Annotated[
    str,
    Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output."),
]


def format_option(kind: str) -> Any:
    """Return the option that names the format of a file; Polars is imported for the formats."""
    from trectools_plus.formats.interchange.detection import options_of

    return Option(
        "--from",
        metavar=f"<{'|'.join(options_of(kind))}>",
        help="Format of the file.  [default: detected]",
    )


def runs_convert(
    run: Annotated[str, Argument(metavar="RUN", help="Run file; - is standard input.")],
    output: Output = "-",
    source_format: Annotated[str | None, format_option("run")] = None,
    columns: Columns = None,
) -> None:
    """csv and tsv have a header with the names of the columns; json is {query_id: {doc_id: score}},
    a list of objects, or an object per line; msmarco is 'qid pid rank', with or without a score;
    trec-rag is the JSON Lines of TREC RAG. Other columns without a header are named by --columns.
    If there are no scores, the negated ranks are the scores. A run with errors is refused.

    \b
    Examples:
      runs convert results.csv --output my.run
      runs convert run.dev.tsv --from msmarco > my.run
      runs convert scores.txt --columns query=1,doc_id=2,score=3 --output my.run
      runs convert hits.csv --columns query=q,doc_id=_id,score=_score --output my.run
    """
    names = formats.column_names(columns)
    formats.refuse_overwriting(output, (run,))
    converted = validation.convert_run(run, source_format=source_format, columns=names)
    formats.write_run(converted.table, output)
    report_conversion(converted, run, output)


def runs_fuse(
    runs: Annotated[list[str], Argument(metavar="RUN...", help="Two or more run files.")],
    output: Annotated[Path, Option("--output", "-o", help="The file to write.")],
    method: Annotated[
        FusionMethod,
        Option(
            help="Fusion method: rrf, weighted, combsum, combmnz or combmax.",
        ),
    ] = "rrf",
    depth: Annotated[
        int | None,
        Option(
            min=1,
            help="Maximum number of results per query.  [default: all results of the runs]",
        ),
    ] = None,
    k: Annotated[int, Option(min=0, help="For rrf: the constant k of 1 / (k + rank).")] = 60,
    weights: Annotated[
        str | None,
        Option(
            help="For weighted: one weight for each run, comma-separated, in the order of the runs."
        ),
    ] = None,
    normalisation: Annotated[
        Normalisation,
        Option(help="Normalisation of scores to a common scale; for methods that use scores."),
    ] = "min-max",
) -> None:
    """Every run is validated first; a run with errors is refused. The order of documents follows
    their scores, as in trec_eval; the rank columns of the files are ignored.

    \b
    Examples:
      runs fuse lexical.run vector.run --method rrf --output hybrid.run
      runs fuse a.run b.run --method weighted --weights 0.7,0.3 --output fused.run
    """
    if len(runs) < 2:
        raise UsageError("one run cannot be fused", where=runs[0], remedy="name two or more")
    fusion = retrieval.Fusion(
        method=method,
        k=k,
        weights=None if weights is None else numbers(weights, "--weights"),
        normalisation=normalisation,
    )
    fusion.check_count(len(runs))
    loaded = [validation.load_run(path) for path in runs]
    fused = retrieval.fuse(loaded, fusion, depth, name=method)
    formats.write_run(fused, output, tag=method)
    typer.echo(
        f"{output}: {plural(fused.frame.height, 'result')} from {len(runs)} runs by {method}"
    )


def qrels_convert(
    qrels: Annotated[str, Argument(metavar="QRELS", help="Qrels file; - is standard input.")],
    output: Output = "-",
    source_format: Annotated[str | None, format_option("qrels")] = None,
    columns: Columns = None,
) -> None:
    """csv, tsv and beir have a header with the names of the columns; json is {query_id: {doc_id:
    grade}}, a list of objects, or an object per line; msmarco is 'qid pid grade'; prels has five
    columns, with the method and probability of sampling; smart is qrels.text, 'qid docid 0 0';
    ntcir has grades L0 to L3; trec-rag is the JSON Lines
    of TREC RAG. Other columns without a header are named by --columns. Qrels with errors are
    refused.

    \b
    Examples:
      trectools-plus qrels convert judgments.csv --output qrels.txt
      trectools-plus qrels convert prels.20001-60000 --from prels > qrels.txt
    """
    names = formats.column_names(columns)
    converted = validation.convert_qrels(qrels, source_format=source_format, columns=names)
    formats.write_qrels(converted.table, output)
    report_conversion(converted, qrels, output)


def report_conversion(
    converted: validation.ConvertedTable[Any],
    source: str,
    output: str,
) -> None:
    """Report a conversion: its size if it was written to a file, and notes."""
    if output != "-":
        typer.echo(
            f"{output}: {plural(converted.table.frame.height, 'row')} in TREC form, from {source} "
            f"({converted.format})"
        )
    for text in converted.notes:
        note(text)


def runs_info(
    run: Annotated[str, Argument(metavar="RUN", help="Run file; - is standard input.")],
    output_format: TextOrJson = "text",
) -> None:
    """The summary contains the numbers of queries and rows, the depth, the tag, the range of
    scores, the number of ties in 64 and in 32 bits, and the order of ranks and rows. A run with
    errors is refused; `runs validate` lists them.

    \b
    Examples:
      runs info lexical.run
      runs info lexical.run --format json
    """
    write_document(validation.describe_file(run), output_format)
