"""``trectools-plus eval``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trectools_plus.cli.option_groups import AnnotationsFile, Scheduler
from trectools_plus.errors import UsageError

if TYPE_CHECKING:
    from trectools_plus.measures import Evaluation
    from trectools_plus.measures.definitions.base import Measure

MAX_NAMED = 10
"""How many query ids a note lists."""


def evaluate_runs(
    qrels: Annotated[
        str,
        typer.Argument(
            metavar="QRELS",
            help="Judgments, TREC or BEIR: a file or an address (s3://…); - is stdin.",
        ),
    ],
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Run files or addresses; - is stdin.")
    ],
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="NAME",
            help="Measure such as nDCG@10, AP(rel=2)@100, MRR@10 or ndcg_cut.10; repeatable, or "
            "several with commas. Without it: nDCG@10, AP@100, RR@10, R@50, R@100, HitRate@10.",
        ),
    ] = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Show every query's value too.")
    ] = False,
    missing: Annotated[
        Literal["zero", "drop"],
        typer.Option(
            help="A judged query without results counts 0 (trec_eval -c), or is left out."
        ),
    ] = "zero",
    low_memory: Annotated[
        bool,
        typer.Option(
            "--low-memory",
            help="Never hold a run as a whole: for runs larger than memory. Same figures.",
        ),
    ] = False,
    ontology: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The terms that MaxOntSim compares, an OBO file [default: the installed HPO].",
        ),
    ] = None,
    annotations: AnnotationsFile = None,
    scheduler: Scheduler = None,
    output_format: Annotated[
        Literal["table", "json", "csv", "parquet"],
        typer.Option("--format", help="table to read; the others for programs."),
    ] = "table",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write there, not to stdout."),
    ] = None,
) -> None:
    """Score run files against relevance judgments.

    Both are checked first; what would give a wrong figure is refused and named. Every mean is
    over the queries that have a relevant document, and the table says how many those are.

    \b
    Examples:
      trectools-plus eval qrels.txt bm25.run
      trectools-plus eval qrels.txt bm25.run hybrid.run -m nDCG@10 -m MRR@10
      trectools-plus eval qrels.txt bm25.run --per-query --format csv > scores.csv
      trectools-plus eval qrels.txt bm25.run --per-query --format parquet -o scores.parquet
      trectools-plus eval qrels.txt runs/*.run --scheduler tcp://10.0.0.1:8786
      trectools-plus eval s3://trec/qrels.txt s3://trec/bm25.run
      trectools-plus eval qrels.txt a.run -m "MaxOntSim(formula='lin')@10" --ontology hp.obo
    """
    from trectools_plus.cli import printing, score_output
    from trectools_plus.distributed import use_scheduler
    from trectools_plus.measures.evaluation import DEFAULT_MEASURES, score_runs
    from trectools_plus.measures.parser import parse_measures, split_names
    from trectools_plus.measures.scoring.files import name_runs, open_files
    from trectools_plus.progress import progress_bar

    if output_format == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("parquet is binary", where="--format", remedy="add --output FILE")
    if [qrels, *runs].count("-") > 1:
        raise UsageError("standard input can be read only once", remedy="name a file instead of -")
    asked = [name for text in measure or () for name in split_names(text)]
    measures = parse_measures(asked if measure else DEFAULT_MEASURES)
    if ontology is not None or annotations is not None:
        measures = _over_files(measures, ontology, annotations)
    with use_scheduler(scheduler), progress_bar() as progress:
        judged, loaded = open_files(qrels, runs, measures, low_memory=low_memory, progress=progress)
        named = name_runs(loaded)
        evaluation = score_runs(judged, named, measures, missing)
    if output_format == "json":
        from trectools_plus.reporting.results.evaluation import evaluation_document

        document = evaluation_document(qrels, named, evaluation, per_query=per_query)
        printing.write_json(document, output)
    elif output_format == "table":
        printing.write_text(score_output.as_table(evaluation, per_query=per_query), output)
    else:
        table = score_output.as_frame(evaluation, per_query=per_query)
        printing.write_frame(table, output_format, output)
    _print_notes(evaluation)


def _over_files(
    measures: list[Measure], ontology: str | None, annotations: str | None
) -> list[Measure]:
    """Measures over the files that options name.

    Raises:
        UsageError: If no measure looks at a file.
    """
    from trectools_plus.measures.definitions.max_ont_sim import bind_files, check_files_used

    check_files_used(measures, ontology, annotations)
    return bind_files(measures, ontology, annotations)


def _print_notes(evaluation: Evaluation) -> None:
    """What the reader should know about the input, on stderr."""
    from trectools_plus.text import plural

    without = evaluation.queries_without_relevant
    if without:
        word = "query" if len(without) == 1 else f"{len(without)} queries:"
        _note(
            f"no relevant document in the qrels, left out of every mean: {word} {_listed(without)}"
        )
    for name, counts in evaluation.counts.items():
        if counts.n_extra:
            of_all = f"of {plural(counts.n_run, 'query', 'queries')}"
            _note(f"{name}: not in the qrels, not scored: {counts.n_extra} {of_all}")
    for note in evaluation.notes:
        _note(note)


def _listed(query_ids: Sequence[str]) -> str:
    more = ", …" if len(query_ids) > MAX_NAMED else ""
    return ", ".join(query_ids[:MAX_NAMED]) + more


def _note(message: str) -> None:
    typer.echo(f"note: {message}", err=True)
