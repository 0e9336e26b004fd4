"""``runs convert`` and ``runs fuse``: commands that write runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from trectools_plus import formats, retrieval, validation
from trectools_plus.choices import (
    MissingDocuments,
    Normalisation,
)
from trectools_plus.cli.options.common import Columns, numbers
from trectools_plus.cli.validation import Output, report_conversion
from trectools_plus.cli.verbosity import note
from trectools_plus.errors import UsageError
from trectools_plus.text import listed, plural


def runs_convert(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run file; - is standard input.")],
    output: Output = "-",
    source_format: Annotated[
        Literal["csv", "tsv", "json", "msmarco", "trec-rag", "trec"] | None,
        typer.Option("--from", help="Format of RUN.  [default: detected]"),
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Tag to write.  [default: that of RUN, or its name]"),
    ] = None,
    columns: Columns = None,
) -> None:
    """csv and tsv have a header with the names of the columns; json is {query_id: {doc_id: score}},
    a list of objects, or an object per line; msmarco is 'qid pid rank', with or without a score;
    trec-rag is the JSON Lines of TREC RAG. Other columns without a header are named by --columns.
    If there are no scores, the negated ranks are the scores. Each system of a table has a file:
    FOLDER/SYSTEM.run, or my.SYSTEM.run for --output my.run. A run with errors is refused.

    \b
    Examples:
      runs convert results.csv --output my.run
      runs convert run.dev.tsv --from msmarco --tag bm25 > my.run
      runs convert scores.txt --columns query=1,doc_id=2,score=3 --output my.run
      runs convert hits.csv --columns query=q,doc_id=_id,score=_score --output my.run
      runs convert systems.csv --output runs
    """
    names = formats.column_names(columns)
    if tag is not None:
        converted = validation.convert_run(run, source_format=source_format, tag=tag, columns=names)
        found = {converted.table.name: converted}
    else:
        found = validation.convert_runs(run, source_format=source_format, columns=names)
    targets = [output] if len(found) == 1 else _targets(list(found), output)
    for target in targets:
        formats.refuse_overwriting(target, (run,))
    for target, converted in zip(targets, found.values(), strict=True):
        Path(target).parent.mkdir(exist_ok=True)
        formats.write_run(converted.table, target)
        report_conversion(converted, run, target)


def _targets(systems: list[str], output: str) -> list[str]:
    """Return the file of each system: in a folder, or beside a file that is not written itself.

    Raises:
        UsageError: If the output is standard output, or the files of two systems have one name.
    """
    if output == "-":
        raise UsageError(
            f"{len(systems):,} systems cannot be written to standard output",
            where=listed(systems),
            remedy="add --output FOLDER",
        )
    path = Path(output)
    names = [re.sub(r"[^A-Za-z0-9._-]+", "_", system).strip(".") or "empty" for system in systems]
    if len({name.lower() for name in names}) < len(names):
        raise UsageError(
            "the names of two systems are equal as names of files",
            where=listed(systems),
            remedy="rename a system",
        )
    if path.is_dir() or not path.suffix or output.endswith("/"):
        return [str(path / f"{name}.run") for name in names]
    stem, _, suffixes = path.name.partition(".")
    return [str(path.with_name(f"{stem}.{name}.{suffixes}")) for name in names]


def runs_fuse(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Two or more run files.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The run file to write.")
    ],
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Fusion method: rrf, isr, borda, condorcet, weighted, combsum, combmnz or "
            "combmax.",
        ),
    ] = "rrf",
    depth: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum number of results per query.  [default: all results of the runs]",
        ),
    ] = None,
    k: Annotated[
        int, typer.Option(min=0, metavar="N", help="For rrf: the constant k of 1 / (k + rank).")
    ] = 60,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS", help="For weighted: one weight for each run, comma-separated."
        ),
    ] = None,
    normalisation: Annotated[
        Normalisation,
        typer.Option(
            help="Normalisation of scores to a common scale; for methods that use scores."
        ),
    ] = "min-max",
    missing_documents: Annotated[
        MissingDocuments,
        typer.Option(
            help="Score of a document in a run that lacks it: that of the run's last document, "
            "or zero, as in ranx; for methods that use scores."
        ),
    ] = "last",
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
        missing_documents=missing_documents,
    )
    fusion.check_count(len(runs))
    loaded = [validation.load_run(path) for path in runs]
    if not set.intersection(*(set(run.query_ids) for run in loaded)):
        raise UsageError(
            "the runs have no query in common",
            where=f"{runs[0]}: {loaded[0].query_ids[0]}, {runs[1]}: {loaded[1].query_ids[0]}, …",
            remedy="fuse runs of the same topics",
        )
    fused = retrieval.fuse(loaded, fusion, depth, name=method)
    formats.write_run(fused, output, tag=method)
    typer.echo(
        f"{output}: {plural(len(fused.query_ids), 'query', 'queries')},"
        f" {plural(fused.frame.height, 'result')} from {len(runs)} runs by {method}"
    )
    for run, path in zip(loaded, runs, strict=True):
        absent = len(fused.query_ids) - len(run.query_ids)
        if absent:
            note(f"{absent} of these queries are not in {path}")
