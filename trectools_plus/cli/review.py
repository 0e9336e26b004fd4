"""``review serve``, ``review show`` and ``review export``: what people think of the results."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trectools_plus.cli.printing import write_json
from trectools_plus.errors import MissingExtraError

if TYPE_CHECKING:
    from trectools_plus.service.review.summary import ReviewSummary

Database = Annotated[
    Path,
    typer.Argument(
        metavar="DB",
        help="The file of judgments that the review page wrote, or the folder with its review.db.",
    ),
]


def review_serve(
    report: Annotated[
        Path, typer.Argument(metavar="REPORT", help="BenchmarkReport.json, or its folder.")
    ],
    database: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where judgments are kept [default: review.db beside the report]."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any that is free.")
    ] = 8000,
    modes: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Modes to show, with commas [default: all]."),
    ] = None,
    depth: Annotated[int, typer.Option(metavar="N", help="Results to show of each mode.")] = 10,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Decides the order of queries and columns [default: random]."),
    ] = None,
    key_from_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Environment variable with a key that people need; without one, only this machine "
            "is served.",
        ),
    ] = None,
) -> None:
    """Serve a page on which people judge results side by side.

    The first results of a report's modes are shown next to each other, blinded and in random
    order. Every answer is on the disk before the page says so. Needs the extra service.

    \b
    Examples:
      trectools-plus review serve results/today
      trectools-plus review serve results/today --modes lexical,hybrid --depth 5
      trectools-plus review serve results/today --host 0.0.0.0 --key-from-env REVIEW_KEY
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise MissingExtraError("the review page", "service")
    from trectools_plus.service.review.app import ReviewOptions, run_review
    from trectools_plus.service.server import read_key

    options = ReviewOptions(
        modes=None if modes is None else [name.strip() for name in modes.split(",")],
        depth=depth,
        seed=seed,
        key=None if key_from_env is None else read_key(key_from_env),
    )
    run_review(
        report,
        database,
        options,
        host=host,
        port=port,
        notify=lambda line: typer.echo(line, err=True),
    )


def review_show(
    database: Database,
    confidence: Annotated[
        float, typer.Option(metavar="LEVEL", help="Level of the intervals.")
    ] = 0.95,
    output_format: Annotated[
        Literal["text", "json"], typer.Option("--format", help="text to read, json for programs.")
    ] = "text",
) -> None:
    """Show how far people agree, and which mode they would choose.

    Works while the page is served. Don't show it to those who still judge: it names the modes.

    \b
    Examples:
      trectools-plus review show results/today/review.db
      trectools-plus review show results/today/review.db --format json
    """
    from contextlib import closing

    from trectools_plus.service.review.store import read_store
    from trectools_plus.service.review.summary import summarise_review
    from trectools_plus.statistics.resamples import Resampling

    with closing(read_store(database)) as store:
        summary = summarise_review(store, Resampling(confidence=confidence))
    if output_format == "json":
        write_json(summary.as_dict())
    else:
        _print_summary(summary)


def review_export(
    database: Database,
    qrels: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the qrels go; - for stdout.")
    ] = Path("-"),
    annotator: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only this person's grades [default: all, merged]."),
    ] = None,
) -> None:
    """Write grades as qrels: one person's, or everyone's merged.

    Merged, a pair that several have graded gets the median of their grades; of two in the middle,
    the lower. Results that are flagged as irrelevant have grade 0.

    \b
    Examples:
      trectools-plus review export results/today/review.db --qrels judged.txt
      trectools-plus review export results/today/review.db --annotator Anna --qrels anna.txt
    """
    from contextlib import closing

    from trectools_plus.formats.qrels import write_qrels
    from trectools_plus.service.review.judgments import export_qrels
    from trectools_plus.service.review.store import read_store
    from trectools_plus.text import plural

    with closing(read_store(database)) as store:
        found = export_qrels(store, annotator)
    write_qrels(found, qrels)
    queries = found.frame["query_id"].n_unique()
    judged = plural(found.frame.height, "judgment")
    typer.echo(f"{judged} of {plural(queries, 'query', 'queries')}", err=True)


def _print_summary(summary: ReviewSummary) -> None:
    """Tables of at most 100 columns."""
    study = summary.study
    typer.echo(f"{study.dataset}: {summary.queries} queries, {study.depth} results of each mode\n")
    rows = [
        [one.name, str(one.complete), str(one.graded), str(one.flagged), str(one.chosen)]
        for one in summary.annotators
    ]
    _print_table(["Annotator", "Complete", "Graded", "Flagged", "Chosen"], rows)
    if summary.shares:
        _print_shares(summary)
    if summary.agreements:
        _print_agreements(summary)


def _print_shares(summary: ReviewSummary) -> None:
    rows = []
    for mode, share in summary.shares.items():
        flags = summary.flags.get(mode)
        flagged = "–" if flags is None else f"{flags.flagged} of {flags.judged}"
        interval = f"[{share.low:.3f}, {share.high:.3f}]"
        rows.append([mode or "none of them", f"{share.value:.3f}", interval, flagged])
    level = next(iter(summary.shares.values()))
    _print_table(["Mode", "Would choose", f"{level.level * 100:g}% interval", "Flagged"], rows)
    typer.echo(f"Shares of {level.n} queries with a choice; Wilson intervals over queries.\n")


def _print_agreements(summary: ReviewSummary) -> None:
    def shown(found: object) -> str:
        value, low, high = (getattr(found, name) for name in ("value", "low", "high"))
        return "undefined" if value != value else f"{value:.2f} [{low:.2f}, {high:.2f}]"

    rows = []
    for pair in summary.agreements:
        grades, choices = pair.grades, pair.choices
        rows.append(
            [
                f"{pair.first} – {pair.second}",
                "0" if grades is None else str(grades.pairs),
                "–" if grades is None else shown(grades.kappas["none"]),
                "–" if grades is None else shown(grades.kappas["quadratic"]),
                "–" if choices is None else shown(choices),
            ]
        )
    _print_table(["Annotators", "Both graded", "Kappa", "Quadratic", "Kappa of choices"], rows)


def _print_table(names: list[str], rows: list[list[str]]) -> None:
    from trectools_plus.reporting.table import Cell, Column, Table
    from trectools_plus.reporting.terminal import print_table
    from trectools_plus.text import make_console

    first, *others = names
    numbers = [Column(Cell(name), right=True, whole=True) for name in others]
    print_table(make_console(sys.stdout), Table.of([first, *numbers], rows))
