"""``runs fuse``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from trectools_plus import formats, retrieval, validation
from trectools_plus.choices import RANK_FUSION, FusionMethod, MissingDocuments, Normalisation
from trectools_plus.cli import completion
from trectools_plus.cli.verbosity import note
from trectools_plus.errors import UsageError
from trectools_plus.text import plural


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
            autocompletion=completion.complete_words(get_args(FusionMethod)),
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
    if any(path != "-" and output.exists() and output.samefile(path) for path in runs):
        raise UsageError("the output is one of the runs", where=str(output), remedy="name another")
    fusion = retrieval.Fusion(
        method=method,
        k=k,
        weights=_parse_weights(weights),
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
        f" {plural(fused.frame.height, 'result')} from {len(runs)} runs by {_describe(fusion)}"
    )
    for run, path in zip(loaded, runs, strict=True):
        absent = len(fused.query_ids) - len(run.query_ids)
        if absent:
            note(f"{absent} of these queries are not in {path}")


def _parse_weights(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(
            f"expected numbers with commas but got '{text}'", where="--weights"
        ) from error


def _describe(fusion: retrieval.Fusion) -> str:
    """Return a method with its parameters, as in ``rrf (k = 60)``."""
    if fusion.method in RANK_FUSION:
        return f"rrf (k = {fusion.k})" if fusion.method == "rrf" else fusion.method
    weights = ", ".join(f"{weight:g}" for weight in fusion.weights or ())
    return f"{fusion.method} ({fusion.normalisation}{', weights ' + weights if weights else ''})"
