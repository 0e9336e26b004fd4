"""``benchmark gate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from trectools_plus import benchmark, reporting
from trectools_plus.cli.options.common import TextMarkdownJson, measure_names, measure_option
from trectools_plus.cli.printing import print_result
from trectools_plus.cli.verbosity import inform, note
from trectools_plus.errors import TrectoolsPlusError


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
    measure: Annotated[list[str] | None, measure_option("R@10")] = None,
    max_drop: Annotated[
        str | None,
        Option(
            metavar="SHARE",
            help="Allowed drop, for example 5% or 0.05.  [default: 5%, or no limit with "
            "--non-inferior]",
        ),
    ] = None,
    non_inferior: Annotated[
        str | None,
        Option(
            metavar="SHARE",
            help="Pass only if the interval of the difference excludes a drop of this size, for "
            "example 5%; needs per_query.parquet of both reports.",
        ),
    ] = None,
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
    if a mean dropped by more than allowed, or is not shown to be non-inferior, 2 if a file, mode or
    measure is missing or cannot be read, 3 if the reports use different qrels, queries, documents
    or dataset versions, a mean is undefined, or a mean dropped only because documents are unjudged.
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
