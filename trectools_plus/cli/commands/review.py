"""``review serve``, ``show``, ``export`` and ``import``: judgments by annotators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import formats, judging, service, statistics, validation
from trectools_plus.cli.options.common import Confidence, Host, Port, TextOrJson
from trectools_plus.cli.printing import print_numbers, print_table, write_json
from trectools_plus.cli.verbosity import inform
from trectools_plus.errors import MissingExtraError
from trectools_plus.text import plural, visible

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
        typer.Option("--depth", metavar="N", help="Maximum number of results per query and mode."),
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
    guideline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Text to show on the page as a guideline.",
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
      trectools-plus review serve results/today --guideline guideline.md
      trectools-plus review serve results/today --host 0.0.0.0 --key-from-env REVIEW_KEY
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise MissingExtraError("the review page", "service")
    options = service.ReviewOptions(
        modes=None if modes is None else [name.strip() for name in modes.split(",")],
        depth=depth,
        seed=seed,
        key=None if key_from_env is None else service.read_key(key_from_env),
        guideline=guideline,
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
        if output_format == "json":
            write_json(of_plan.as_dict())
        else:
            _print_plan(of_plan)
        return
    with closing(service.read_store(database)) as store:
        summary = service.summarise_review(store, statistics.Resampling(confidence=confidence))
    if output_format == "json":
        write_json(summary.as_dict())
    else:
        _print_summary(summary)


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
    ignored = f"; {found.ignored:,} judgments are of other pairs" if found.ignored else ""
    queries = plural(found.queries, "query", "queries")
    typer.echo(f"{plural(found.graded, 'judgment')} of {queries} imported{lacking}{ignored}.")
    if found.open:
        left = plural(found.open, "query", "queries")
        typer.echo(
            f"{left} lack more than a tenth of their pool; review serve asks {annotator} about the "
            "rest."
        )


def _print_summary(summary: service.ReviewSummary) -> None:
    """Print tables that are at most 100 characters wide."""
    study = summary.study
    queries = plural(summary.queries, "query", "queries")
    typer.echo(f"{study.dataset}: {queries}, {study.depth} results of each mode\n")
    rows = [
        [
            one.name,
            *map(str, (one.complete, one.graded, one.flagged, one.chosen, one.cannot_judge)),
        ]
        for one in summary.annotators
    ]
    names = ["Annotator", "Complete", "Graded", "Flagged", "Chosen", "Cannot judge"]
    print_numbers(names, rows)
    if summary.shares:
        _print_shares(summary)
    over = "means over the queries in which the mode found one.\n"
    if summary.chosen_results:
        _print_positions(summary.chosen_results)
        typer.echo(f"Positions of the chosen results; {over}")
    if summary.positions:
        _print_positions(summary.positions)
        typer.echo(f"Positions of the results with grade 3; {over}")
    if summary.agreements:
        _print_agreements(summary)
    if summary.remarks:
        _print_remarks(summary.remarks)


def _print_plan(summary: service.PlanSummary) -> None:
    """Print tables that are at most 100 characters wide."""
    typer.echo(
        f"People have judged {plural(summary.complete, 'query', 'queries')}; {summary.planned:,} "
        f"are planned, of {summary.queries:,} in all.\n"
    )
    if summary.annotators:
        rows = [
            [one.name, *(f"{n:,}" for n in (one.complete, one.left_out, one.graded, one.missing))]
            for one in summary.annotators
        ]
        print_numbers(["Annotator", "Complete", "Left out", "Graded", "Cannot judge"], rows)
    for query_id, reason in summary.left_out.items():
        typer.echo(f"Left out: query {visible(query_id)}, because {reason}.")
    if summary.agreement.pairs:
        _print_agreement_on_plan(summary)
    if summary.remarks:
        _print_remarks(summary.remarks)


def _print_agreement_on_plan(summary: service.PlanSummary) -> None:
    pairs = summary.agreement.pairs
    rows = [
        [
            _name_pair(one),
            f"{one.pairs:,}",
            f"{one.agreed / one.pairs:.0%}",
            *(_show_agreement(one.kappas[weights]) for weights in ("none", "linear", "quadratic")),
        ]
        for one in pairs
    ]
    print_numbers(["Annotators", "Both graded", "Same", "Kappa", "Linear", "Quadratic"], rows)
    alphas = [f"{_name_pair(one)} {_show_agreement(one.alpha)}" for one in pairs]
    if summary.agreement.alpha is not None:
        alphas.append(f"all people {_show_agreement(summary.agreement.alpha)}")
    typer.echo("Krippendorff's alpha for ordinal grades:")
    for line in alphas:
        typer.echo(f"  {line}")
    level = pairs[0].alpha.level
    typer.echo(f"Intervals ({level * 100:g}%) resample queries.\n")
    for one in pairs:
        if one.kind == "model":
            _print_model(one)


def _print_model(pair: judging.LabelAgreement) -> None:
    rows = [
        [f"people {grade}", *(f"{count:,}" for count in counts)]
        for grade, counts in enumerate(pair.confusion)
    ]
    print_numbers([f"Grades of {pair.second}", *map(str, range(len(rows)))], rows)
    rows = [
        [
            run,
            f"{one.pairs:,}",
            f"{one.agreed / one.pairs:.0%}",
            _show_agreement(one.kappa),
            f"{one.difference:+.2f}",
        ]
        for run, one in pair.runs.items()
    ]
    print_numbers(
        [f"Run, {pair.second}", "Both graded", "Same", "Kappa", "Mean grade minus people's"], rows
    )


def _name_pair(pair: judging.LabelAgreement) -> str:
    if pair.kind == "repeat":
        return f"{pair.first}, asked twice"
    return f"{pair.first} – {pair.second}"


def _show_agreement(found: statistics.Agreement) -> str:
    if found.value != found.value:
        return "undefined"
    interval = "" if found.low != found.low else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.value:.2f}{interval}"


def _print_shares(summary: service.ReviewSummary) -> None:
    rows = []
    for mode, share in summary.shares.items():
        flags = summary.flags.get(mode)
        flagged = "–" if flags is None else f"{flags.flagged} of {flags.judged}"
        interval = f"[{share.low:.3f}, {share.high:.3f}]"
        rows.append([mode or "none of them", f"{share.value:.3f}", interval, flagged])
    level = next(iter(summary.shares.values()))
    print_numbers(["Mode", "Would choose", f"{level.level * 100:g}% interval", "Flagged"], rows)
    typer.echo(f"Shares of {level.n:,} queries with a choice; Wilson intervals over queries.\n")


def _print_positions(positions: Mapping[str, service.ModePositions]) -> None:
    rows = [
        [
            mode,
            "–" if one.average is None else f"{one.average:.2f}",
            "–" if one.minimum is None else f"{one.minimum:.2f}",
            str(one.found),
            f"{one.in_top_3}/{one.chosen}",
        ]
        for mode, one in positions.items()
    ]
    header = ["Mode", "Average position", "Minimum position", "Queries", "inTop3"]
    print_numbers(header, rows)


def _print_agreements(summary: service.ReviewSummary) -> None:
    def shown(found: object) -> str:
        value, low, high = (getattr(found, name) for name in ("value", "low", "high"))
        return "undefined" if value != value else f"{value:.2f} [{low:.2f}, {high:.2f}]"

    rows = []
    for pair in summary.agreements:
        grades, choices, results = pair.grades, pair.choices, pair.results
        rows.append(
            [
                f"{pair.first} – {pair.second}",
                "0" if grades is None else f"{grades.pairs:,}",
                "–" if grades is None else shown(grades.kappas["none"]),
                "–" if grades is None else shown(grades.kappas["quadratic"]),
                "–" if results is None else f"{results.agreed}/{results.queries}",
                "–" if choices is None else shown(choices),
            ]
        )
    names = ["Annotators", "Both graded", "Kappa", "Quadratic", "Same result", "Kappa of columns"]
    print_numbers(names, rows)


def _print_remarks(remarks: Sequence[service.Remark]) -> None:
    rows = []
    for one in remarks:
        reason = (
            "" if one.cannot_judge is None else f"cannot judge: {one.cannot_judge}".rstrip(": ")
        )
        words = "; ".join(filter(None, [reason, one.comment or ""]))
        rows.append([visible(one.query_id), one.annotator, visible(" ".join(words.split()), 300)])
    print_table(["Query", "Annotator", "Comment"], rows)
