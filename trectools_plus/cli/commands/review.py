"""``review serve``, ``show``, ``export`` and ``import``: judgments by annotators."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import formats, judging, service, statistics, validation
from trectools_plus.cli.options.common import Confidence, Host, Port, TextOrJson
from trectools_plus.cli.printing import write_document
from trectools_plus.cli.verbosity import inform
from trectools_plus.text import plural, split_list

Database = Annotated[
    Path,
    typer.Argument(
        metavar="DB",
        help="The review database, or the folder with its review.db.",
    ),
]


def review_serve(
    report: Annotated[
        Path,
        typer.Argument(
            metavar="REPORT", help="A BenchmarkReport.json, a plan of judge plan, or its folder."
        ),
    ],
    database: Annotated[
        Path | None,
        typer.Option(
            metavar="DB",
            help="The review database of a report.  [default: review.db in the report's folder]",
        ),
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    modes: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Modes to show, comma-separated.  [default: all]"),
    ] = None,
    depth: Annotated[
        int,
        typer.Option(
            "--depth",
            min=1,
            max=100,
            metavar="N",
            help="Maximum number of results per query and mode.",
        ),
    ] = 10,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Seed of the order of queries and columns.  [default: random]",
        ),
    ] = None,
    key_from_env: Annotated[
        str | None,
        typer.Option(
            metavar="VARIABLE",
            help="Environment variable with the key that annotators must enter.",
        ),
    ] = None,
    share: Annotated[
        bool,
        typer.Option(
            "--share",
            help="Let people share the queries of a plan: after the first ten, which everyone "
            "judges, each query is judged by one person.",
        ),
    ] = False,
) -> None:
    """The page shows the first results of a report's modes next to each other, in random order and
    without the names of the modes. Every judgment is written to the database before the page
    confirms it. For a plan of judge plan, it shows the pooled documents of one query after the
    other, in random order, and people grade them. Needs the extra service.

    \b
    Examples:
      trectools-plus review serve results/today
      trectools-plus review serve plan
      trectools-plus review serve plan --share
      trectools-plus review serve results/today --modes lexical,hybrid --depth 5
      trectools-plus review serve results/today --host 0.0.0.0 --key-from-env REVIEW_KEY
    """
    options = service.ReviewOptions(
        modes=None if modes is None else split_list(modes),
        depth=depth,
        seed=seed,
        key=None if key_from_env is None else service.read_key(key_from_env),
        share=share,
    )
    service.run_review(report, database, options, host=host, port=port, notify=inform)


def review_show(
    database: Database,
    confidence: Confidence = 0.95,
    output_format: TextOrJson = "text",
) -> None:
    """The command works while the page is served. The output names the modes; do not show it to
    annotators who have not finished. Of a plan, it shows how many queries people and models have
    judged, and their agreement, with intervals that resample queries.

    \b
    Examples:
      trectools-plus review show results/today/review.db
      trectools-plus review show results/today/review.db --format json
      trectools-plus review show plan
    """
    if (plan := judging.find_plan(database)) is not None:
        of_plan = service.summarise_plan(plan, statistics.Resampling(confidence=confidence))
        write_document(of_plan.as_dict(), output_format)
        return
    with closing(service.read_store(database)) as store:
        summary = service.summarise_review(store, statistics.Resampling(confidence=confidence))
    write_document(summary.as_dict(), output_format)


def review_export(
    database: Database,
    qrels: Annotated[
        Path, typer.Option(metavar="FILE", help="File to write; - is standard output.")
    ] = Path("-"),
    annotator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Export the judgments of this annotator only.  [default: all annotators, merged]",
        ),
    ] = None,
    choices: Annotated[
        bool,
        typer.Option(
            "--choices",
            help="Export the chosen results (relevance 1, other shown results 0) instead of the "
            "grades.",
        ),
    ] = False,
) -> None:
    """If several annotators graded a pair, the merged qrels contain the median of their grades; of
    an even number, the lower of the two middle grades. Results flagged as irrelevant have grade 0.

    \b
    Examples:
      trectools-plus review export results/today/review.db --qrels judged.txt
      trectools-plus review export results/today/review.db --choices --qrels chosen.txt
      trectools-plus review export results/today/review.db --annotator Anna --qrels anna.txt
    """
    formats.refuse_link_out(qrels, database if database.is_dir() else database.parent)
    with closing(service.read_store(database)) as store:
        found = service.export_qrels(store, annotator, choices=choices)
    formats.write_qrels(found, qrels)
    queries = found.frame["query_id"].n_unique()
    judged = plural(found.frame.height, "judgment")
    inform(f"{judged} of {plural(queries, 'query', 'queries')}")


def review_import(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The folder of a plan.")],
    qrels: Annotated[
        Path, typer.Argument(metavar="QRELS", help="Judgments of people, with grades up to 3.")
    ],
    annotator: Annotated[
        str, typer.Option(metavar="NAME", help="The name under which they are stored.")
    ] = "qrels",
    leave_out: Annotated[
        bool,
        typer.Option(
            "--leave-out",
            help="Leave out queries of which the qrels lack more than a tenth of the pool, instead "
            "of asking people about the rest.",
        ),
    ] = False,
) -> None:
    """The judgments become those of an annotator of the plan, as if they were made on the page.
    Negative grades count as 0. If the qrels lack at most a tenth of the pooled documents of a
    query, these count as documents that cannot be judged; otherwise the page asks about them. An
    annotator who has judged before gets the judgments that are new.

    \b
    Examples:
      trectools-plus review import plan judged.txt --annotator Anna
    """
    found = service.import_judgments(
        judging.PlanFolder(plan), validation.load_qrels(qrels), annotator, leave_out=leave_out
    )
    lacking = f"; {found.missing:,} pooled documents lack a grade" if found.missing else ""
    queries = plural(found.queries, "query", "queries")
    typer.echo(f"{plural(found.graded, 'judgment')} of {queries} imported{lacking}.")
    if found.open:
        left = plural(found.open, "query", "queries")
        typer.echo(
            f"{left} lack more than a tenth of their pool; review serve asks {annotator} about the "
            "rest."
        )
