"""``review serve``, ``show``, ``export`` and ``import``: judgments by annotators."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from trectools_plus import formats, judging, service, statistics, validation
from trectools_plus.cli.options.common import Host, KeyFromEnv, Port, TextOrJson
from trectools_plus.cli.printing import write_document
from trectools_plus.cli.verbosity import inform
from trectools_plus.text import split_list

Database = Annotated[
    Path, Argument(metavar="DB", help="The review database, or the folder with its review.db.")
]


def review_serve(
    report: Annotated[
        Path,
        Argument(
            metavar="REPORT", help="A BenchmarkReport.json, a plan of judge plan, or its folder."
        ),
    ],
    host: Host = "127.0.0.1",
    port: Port = 8000,
    modes: Annotated[
        str | None,
        Option(help="Modes to show, comma-separated.  [default: all]"),
    ] = None,
    depth: Annotated[
        int, Option(min=1, max=100, help="Maximum number of results per query and mode.")
    ] = 10,
    key_from_env: KeyFromEnv = None,
    share: Annotated[
        bool,
        Option(
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
        key=None if key_from_env is None else service.read_key(key_from_env),
        share=share,
    )
    service.run_review(report, None, options, host=host, port=port, notify=inform)


def review_show(database: Database, output_format: TextOrJson = "text") -> None:
    """The command works while the page is served. The output names the modes; do not show it to
    annotators who have not finished. Of a plan, it shows how many queries people and models have
    judged, and their agreement, with intervals that resample queries.

    \b
    Examples:
      trectools-plus review show results/today/review.db
      trectools-plus review show results/today/review.db --format json
      trectools-plus review show plan
    """
    resampling = statistics.Resampling()
    if (plan := judging.find_plan(database)) is not None:
        write_document(service.summarise_plan(plan, resampling).as_dict(), output_format)
        return
    with closing(service.read_store(database)) as store:
        summary = service.summarise_review(store, resampling)
    write_document(summary.as_dict(), output_format)


def review_export(
    database: Database,
    qrels: Annotated[Path, Option(help="File to write; - is standard output.")] = Path("-"),
    annotator: Annotated[
        str | None,
        Option(
            help="Export the judgments of this annotator only.  [default: all annotators, merged]",
        ),
    ] = None,
) -> None:
    """If several annotators graded a pair, the merged qrels contain the median of their grades; of
    an even number, the lower of the two middle grades. Results flagged as irrelevant have grade 0.

    \b
    Examples:
      trectools-plus review export results/today/review.db --qrels judged.txt
      trectools-plus review export results/today/review.db --annotator Anna --qrels anna.txt
    """
    formats.refuse_link_out(qrels, database if database.is_dir() else database.parent)
    with closing(service.read_store(database)) as store:
        exported = service.export_qrels(store, annotator)
    formats.write_qrels(exported, qrels)


def review_import(
    plan: Annotated[Path, Argument(metavar="PLAN", help="The folder of a plan.")],
    qrels: Annotated[
        Path, Argument(metavar="QRELS", help="Judgments of people, with grades up to 3.")
    ],
    annotator: Annotated[str, Option(help="The name under which they are stored.")] = "qrels",
) -> None:
    """The judgments become those of an annotator of the plan, as if they were made on the page.
    Negative grades count as 0. If the qrels lack at most a tenth of the pooled documents of a
    query, these count as documents that cannot be judged; otherwise the page asks about them. An
    annotator who has judged before gets the judgments that are new.

    \b
    Examples:
      trectools-plus review import plan judged.txt --annotator Anna
    """
    judgments = validation.load_qrels(qrels)
    imported = service.import_judgments(judging.PlanFolder(plan), judgments, annotator)
    write_document(imported._asdict(), "text")
