"""``benchmark gate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trectools_plus.errors import TrectoolsPlusError

if TYPE_CHECKING:
    from trectools_plus.benchmark.gate import GateResult
    from trectools_plus.reporting.github import PullRequest


def benchmark_gate(
    current: Annotated[
        Path, typer.Option(metavar="FILE", help="The report under test, or its folder.")
    ],
    baseline: Annotated[
        Path, typer.Option(metavar="FILE", help="The report it is held against, or its folder.")
    ],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="NAME",
            help="A measure, or several with commas; may be repeated [default: R@10].",
        ),
    ] = None,
    max_drop: Annotated[
        str, typer.Option(metavar="SHARE", help="Allowed drop, such as 5% or 0.05.")
    ] = "5%",
    absolute: Annotated[
        bool,
        typer.Option(
            "--absolute", help="The drop is in the measure's unit, not a share of the baseline."
        ),
    ] = False,
    require_significant: Annotated[
        bool,
        typer.Option(
            "--require-significant",
            help="Fail only where the drop is significant too; needs per_query.parquet.",
        ),
    ] = False,
    output_format: Annotated[
        Literal["text", "markdown", "json"],
        typer.Option("--format", help="text to read, markdown for a comment, json for programs."),
    ] = "text",
    post: Annotated[
        bool,
        typer.Option(
            "--post-comment",
            help="Post the Markdown on the pull request, or update it there; needs GITHUB_TOKEN.",
        ),
    ] = False,
) -> None:
    """Fail when a measure dropped against a baseline report.

    Each mode of the baseline is held against the same mode now. Exit code 1: a mean dropped by
    more than allowed. 2: something cannot be read or is not there. 3: the reports rest on other
    qrels, queries, documents or dataset versions, or a mean is undefined. Where
    GITHUB_STEP_SUMMARY is set, the Markdown is appended to that file.

    \b
    Examples:
      benchmark gate --current results/new --baseline results/main
      benchmark gate --current results/new --baseline results/main --measure R@10,nDCG@10
      benchmark gate --current results/new --baseline results/main --max-drop 2% --post-comment
    """
    from trectools_plus.benchmark.gate import DEFAULT_MEASURES, GateRules, parse_drop, run_gate
    from trectools_plus.measures.parser import split_names
    from trectools_plus.reporting.github import find_pull_request
    from trectools_plus.reporting.results.gate import render_gate_markdown, render_refusal_markdown

    target = find_pull_request() if post else None
    names = DEFAULT_MEASURES if measures is None else tuple(split_names(",".join(measures)))
    rules = GateRules(names, parse_drop(max_drop), absolute, require_significant)
    try:
        result = run_gate(current, baseline, rules)
    except TrectoolsPlusError as error:
        # An older comment that says "passed" must not stay as the last word.
        _publish(render_refusal_markdown(str(error)), target, final=False)
        raise
    markdown = render_gate_markdown(result)
    _print(result, markdown, output_format)
    _publish(markdown, target, final=result.passed)
    if not result.passed:
        raise typer.Exit(1)


def _print(result: GateResult, markdown: str, output_format: str) -> None:
    from trectools_plus.cli.printing import write_json
    from trectools_plus.reporting.results.gate import gate_document, print_gate

    if output_format == "json":
        write_json(gate_document(result))
    elif output_format == "markdown":
        typer.echo(markdown, nl=False)
    else:
        print_gate(result, sys.stdout)


def _publish(markdown: str, target: PullRequest | None, *, final: bool) -> None:
    """Summary and comment; what fails there must not hide a failure that is known already."""
    from trectools_plus.reporting.github import append_step_summary, post_comment
    from trectools_plus.reporting.results.gate import MARKER

    try:
        append_step_summary(markdown)
        if target is not None:
            typer.echo(f"comment: {post_comment(target, markdown, MARKER)}", err=True)
    except TrectoolsPlusError as error:
        if final:
            raise
        typer.echo(f"note: {error}", err=True)
