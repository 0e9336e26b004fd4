"""Commands of ``benchmark`` on existing reports: list, show, verify, compare, gate and metrics."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from trectools_plus import benchmark, reporting, service
from trectools_plus.cli.options import (
    Everything,
    Measures,
    Report,
    TableOptions,
    TextMarkdownJson,
    TextOrJson,
    measure_names,
)
from trectools_plus.cli.printing import (
    Verbosity,
    inform,
    note,
    print_result,
    show_progress,
    write_document,
)
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.text import plural


def benchmark_list(
    folder: Annotated[
        Path, Argument(metavar="FOLDER", help="Folder that contains the report folders.")
    ] = Path("results"),
    output_format: TextOrJson = "text",
) -> None:
    """\b
    Examples:
      benchmark list
      benchmark list results --format json
    """
    listing = benchmark.list_reports(folder)
    for problem in listing.problems:
        note(problem)
    write_document({"reports": [asdict(report) for report in listing.reports]}, output_format)


def benchmark_show(
    report: Report,
    paper: TableOptions,
    output_format: TextMarkdownJson = "text",
    table: Annotated[
        list[Path] | None,
        Option(
            help="Write the comparison table to a file ending in .tex, .md or .csv, instead of "
            "printing the report; repeatable.",
        ),
    ] = None,
    everything: Everything = False,
    measure: Measures = None,
) -> None:
    """\b
    Examples:
      benchmark show results/20250131-120000-0f3a9c21
      benchmark show results/today/BenchmarkReport.json --format markdown
      benchmark show results/today --table paper/table.tex --table figures.csv
      benchmark show results/today --table t.tex -m nDCG@10,RR --systems rows --label tab:main
    """
    shown = benchmark.ReportFolder(report).report
    if table:
        names = measure_names(measure) or None
        reporting.write_table(shown, *table, measures=names, layout=paper.layout())
    elif output_format == "json":
        typer.echo(reporting.render_json(shown), nl=False)
    elif output_format == "markdown":
        typer.echo(reporting.render_markdown(shown), nl=False)
    else:
        notes = not Verbosity.current.quiet
        reporting.print_report(shown, sys.stdout, full=everything, notes=notes)


def benchmark_verify(report: Report, output_format: TextOrJson = "text") -> None:
    """The whole report is made again from the run files, the qrels, the topics and the
    configuration, and every file is compared with the one in the folder. Problems are listed with
    their location, and parts that cannot be made again as unproven. Exit code: 1 if there is a
    problem or another version wrote the report, 2 if a file is missing or cannot be read.

    Of a plan of judgments, the order in which people judged and the estimate are verified.

    \b
    Examples:
      benchmark verify results/20250131-120000-0f3a9c21
      benchmark verify results/today --format json
    """
    with show_progress() as progress:
        verified = benchmark.verify_report(report, progress)
    count, document = len(verified.problems), verified.as_dict()
    if output_format == "text":
        document = {"result": plural(count, "problem") if count else "all hold", **document}
    write_document(document, output_format)
    if count:
        raise typer.Exit(1)


def benchmark_compare(
    first: Annotated[
        Path,
        Argument(metavar="A", help="A BenchmarkReport.json, or its folder."),
    ],
    second: Annotated[Path, Argument(metavar="B", help="The report to compare with A.")],
    test: Annotated[
        str,
        Option(
            help="Paired test that decides on significance, adjusted by Holm: t_test, "
            "paired_bootstrap, randomisation or wilcoxon.",
        ),
    ] = "t_test",
    output_format: TextMarkdownJson = "text",
    everything: Everything = False,
) -> None:
    """The modes and measures that both reports contain are compared, with intervals, tests,
    latency, and with --all the queries that changed most. Exit code 3: the reports use different
    qrels, queries or documents.

    \b
    Examples:
      benchmark compare results/monday results/tuesday
      benchmark compare results/monday results/tuesday --test wilcoxon --format markdown
    """
    contrast = benchmark.compare_reports(first, second, test=test)
    full = everything or output_format == "markdown"
    print_result(
        output_format,
        reporting.contrast_document(contrast),
        reporting.contrast_blocks(contrast, full=full),
        folds=everything,
    )


def benchmark_gate(
    current: Annotated[
        Path,
        Option(help="The report to check: a BenchmarkReport.json, or its folder."),
    ],
    baseline: Annotated[
        Path,
        Option(
            help="The report to compare with: a BenchmarkReport.json, or its folder.",
        ),
    ],
    measure: Measures = None,
    max_drop: Annotated[
        str | None,
        Option(
            help="Allowed drop, for example 5% or 0.05.  [default: 5%, or no limit with "
            "--non-inferior]",
        ),
    ] = None,
    non_inferior: Annotated[
        str | None,
        Option(
            help="Pass only if the interval of the difference excludes a drop of this size, for "
            "example 5%; needs per_query.parquet of both reports.",
        ),
    ] = None,
    absolute: Annotated[
        bool,
        Option("--absolute", help="Read drops as differences of the measure, not as shares."),
    ] = False,
    require_significant: Annotated[
        bool,
        Option(
            "--require-significant",
            help="Fail only if the drop is also significant; needs per_query.parquet of both "
            "reports. Not with --non-inferior.",
        ),
    ] = False,
    output_format: TextMarkdownJson = "text",
    post: Annotated[
        bool,
        Option(
            "--post-comment",
            help="Post the result as a comment on the pull request, or update the comment; needs "
            "GITHUB_TOKEN.",
        ),
    ] = False,
) -> None:
    """Each mode of the baseline is compared with the same mode of the current report. Exit code: 1
    if a mean dropped by more than allowed, or is not shown to be non-inferior, 2 if a file or
    measure is missing or cannot be read, 3 if a mode is missing, the reports use different qrels,
    queries, documents or dataset versions, a mean is undefined, or dropped only because documents
    are unjudged.
    If GITHUB_STEP_SUMMARY is set, the result is appended to that file as Markdown.

    \b
    Examples:
      benchmark gate --current results/new --baseline results/main
      benchmark gate --current results/new --baseline results/main --measure R@10,nDCG@10
      benchmark gate --current results/new --baseline results/main --max-drop 2% --post-comment
      benchmark gate --current results/new --baseline results/main --non-inferior 5%
    """
    target = reporting.find_pull_request() if post else None
    rules = benchmark.GateRules(
        tuple(measure_names(measure) or benchmark.DEFAULT_MEASURES),
        None if max_drop is None else benchmark.parse_drop(max_drop),
        absolute=absolute,
        require_significant=require_significant,
        non_inferior=None
        if non_inferior is None
        else benchmark.parse_drop(non_inferior, "--non-inferior"),
    )
    try:
        result = benchmark.run_gate(current, baseline, rules)
    except TrectoolsPlusError as error:
        # Replace an older comment, which may contain "passed".
        _publish(reporting.render_refusal_markdown(str(error)), target, final=False)
        raise
    blocks = reporting.gate_blocks(result)
    print_result(output_format, reporting.gate_document(result), blocks, folds=True)
    _publish(reporting.render_gate_markdown(result), target, final=result.passed)
    if not result.passed:
        raise typer.Exit(1 if result.decidable else 3)


def _publish(markdown: str, target: reporting.PullRequest | None, *, final: bool) -> None:
    """Write summary and comment; unless ``final``, an error only prints a note."""
    try:
        reporting.append_step_summary(markdown)
        if target is not None:
            inform(f"comment: {reporting.post_comment(target, markdown, reporting.MARKER)}")
    except TrectoolsPlusError as error:
        if final:
            raise
        note(str(error))


def benchmark_metrics(
    report: Report,
    textfile: Annotated[
        Path | None,
        Option(help="Write the metrics to a .prom file for node_exporter."),
    ] = None,
    prefix: Annotated[str, Option(help="Prefix of the names of metrics.")] = "trectools_plus",
) -> None:
    """Without --textfile, the metrics are printed. Needs the extra service.

    \b
    Examples:
      benchmark metrics results/today
      benchmark metrics results/today --prefix medicalkg --textfile /var/lib/node/retrieval.prom
    """
    content = service.render_metrics(service.read_snapshots(report), prefix)
    if textfile is None:
        sys.stdout.write(content.decode())
    else:
        service.write_textfile(textfile, content)
