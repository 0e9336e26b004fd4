"""``runs fuse`` and ``runs info``: commands on run files that exist already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trectools_plus.cli.printing import write_json
from trectools_plus.errors import UsageError

if TYPE_CHECKING:
    from trectools_plus.retrieval.fusion import Fusion
    from trectools_plus.retrieval.run_info import RunInfo


def runs_fuse(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Two or more run files.")],
    output: Annotated[Path, typer.Option(metavar="FILE", help="The run file to write.")],
    method: Annotated[
        str, typer.Option(metavar="NAME", help="rrf, weighted, combsum, combmnz or combmax.")
    ] = "rrf",
    depth: Annotated[
        int, typer.Option(min=1, metavar="N", help="Results for each query, at most.")
    ] = 100,
    k: Annotated[
        int, typer.Option(min=0, metavar="N", help="Constant of rrf: 1 / (k + rank).")
    ] = 60,
    weights: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="For weighted: one for each run, with commas."),
    ] = None,
    normalisation: Annotated[
        Literal["min-max", "z-score"], typer.Option(help="Common scale of scores; not for rrf.")
    ] = "min-max",
) -> None:
    """Merge run files into one, query by query.

    Every run is validated first, and one with errors is refused. Ranks follow the scores, as
    evaluators read a run; the rank columns of the files are ignored.

    \b
    Examples:
      runs fuse lexical.run vector.run --method rrf --output hybrid.run
      runs fuse a.run b.run --method weighted --weights 0.7,0.3 --output fused.run
    """
    from trectools_plus.formats.run import write_run
    from trectools_plus.retrieval.fusion import Fusion, fuse_runs
    from trectools_plus.validation import load_run

    if len(runs) < 2:
        raise UsageError("one run cannot be fused", where=runs[0], remedy="name two or more")
    if any(path != "-" and output.exists() and output.samefile(path) for path in runs):
        raise UsageError("the output is one of the runs", where=str(output), remedy="name another")
    fusion = Fusion(
        method=method, k=k, weights=_parse_weights(weights), normalisation=normalisation
    )
    fusion.check_count(len(runs))
    loaded = [load_run(path) for path in runs]
    if not set.intersection(*(set(run.query_ids) for run in loaded)):
        raise UsageError(
            "the runs have no query in common",
            where=f"{runs[0]}: {loaded[0].query_ids[0]}, {runs[1]}: {loaded[1].query_ids[0]}, …",
            remedy="fuse runs of the same topics",
        )
    fused = fuse_runs(loaded, fusion, depth, name=method)
    write_run(fused, output, tag=method)
    typer.echo(
        f"{output}: {len(fused.query_ids):,} queries, {fused.frame.height:,} results"
        f" from {len(runs)} runs by {_describe(fusion)}"
    )
    for run, path in zip(loaded, runs, strict=True):
        absent = len(fused.query_ids) - len(run.query_ids)
        if absent:
            typer.echo(f"note: {absent} of these queries are not in {path}", err=True)


def runs_info(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run file; - for standard input.")],
    output_format: Annotated[
        Literal["text", "json"],
        typer.Option("--format", help="text to read, json for programs."),
    ] = "text",
) -> None:
    """Show what is in a run file.

    Queries, rows, depth, tag, the range of scores, ties in 64 and 32 bits, and order.
    A run with errors is refused; `runs validate` lists them.

    \b
    Examples:
      runs info lexical.run
      runs info lexical.run --format json
    """
    from trectools_plus.retrieval.run_info import describe_run
    from trectools_plus.validation import load_run

    info = describe_run(load_run(run))
    if output_format == "json":
        write_json(info.model_dump(mode="json"))
    else:
        typer.echo("\n".join(f"{label:<14}{value}" for label, value in _info_lines(info)))


def _parse_weights(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(
            f"expected numbers with commas but got '{text}'", where="--weights"
        ) from error


def _describe(fusion: Fusion) -> str:
    """A method with what it depends on, as in ``rrf (k = 60)``."""
    if fusion.method == "rrf":
        return f"rrf (k = {fusion.k})"
    weights = ", ".join(f"{weight:g}" for weight in fusion.weights or ())
    return f"{fusion.method} ({fusion.normalisation}{', weights ' + weights if weights else ''})"


def _info_lines(info: RunInfo) -> list[tuple[str, str]]:
    depth = info.depth
    follow = "follow the scores" if info.ranks_follow_scores else "do not follow the scores"
    rows = "in rank order" if info.rows_follow_ranks else "not in rank order"
    return [
        ("run", info.path or "-"),
        ("tag", info.tag),
        ("queries", f"{info.queries:,}"),
        ("rows", f"{info.rows:,}"),
        ("depth", f"{depth.min:,} to {depth.max:,}, median {depth.median:,g}"),
        ("scores", f"{info.lowest_score:.6g} to {info.highest_score:.6g}"),
        (
            "ties",
            f"{info.ties_64:,} neighbouring pairs in 64 bits, {info.ties_32:,} in 32 bits",
        ),
        ("order", f"ranks from {info.first_rank}, they {follow}; rows {rows}"),
    ]
