"""``runs info``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from trectools_plus import validation
from trectools_plus.blas import load_numpy_without_threads
from trectools_plus.cli.options.common import TextOrJson
from trectools_plus.cli.printing import write_json


def runs_info(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run file; - is standard input.")],
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
    load_numpy_without_threads()
    info = validation.describe_file(run)
    if output_format == "json":
        write_json(info)
    else:
        typer.echo("\n".join(f"{label:<14}{value}" for label, value in _info_lines(info)))


def _info_lines(info: Mapping[str, Any]) -> list[tuple[str, str]]:
    depth = info["depth"]
    follow = "follow the scores" if info["ranks_follow_scores"] else "do not follow the scores"
    rows = "in rank order" if info["rows_follow_ranks"] else "not in rank order"
    return [
        ("run", info["path"] or "-"),
        ("tag", info["tag"]),
        ("queries", f"{info['queries']:,}"),
        ("rows", f"{info['rows']:,}"),
        ("depth", f"{depth['min']:,} to {depth['max']:,}, median {depth['median']:,g}"),
        ("scores", f"{info['lowest_score']:.6g} to {info['highest_score']:.6g}"),
        (
            "ties",
            f"{info['ties_64']:,} neighbouring pairs in 64 bits, {info['ties_32']:,} in 32 bits",
        ),
        ("order", f"ranks from {info['first_rank']}, they {follow}; rows {rows}"),
    ]
