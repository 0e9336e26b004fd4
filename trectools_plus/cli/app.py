"""The console commands ``trectools-plus``, ``runs`` and ``benchmark``: which name calls what."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trectools_plus.cli import (
    bench,
    compare,
    compare_vectors,
    explain,
    extraction,
    gate,
    index,
    multilingual,
    query,
    reports,
    retrieve,
    review,
    run_files,
    score,
    serve,
    testset,
    testset_checks,
    trec_eval,
    validate,
    validate_topics,
)
from trectools_plus.cli.errors import run_command


def _group(help_text: str) -> typer.Typer:
    return typer.Typer(
        help=help_text,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )


runs_app = _group("Validate, fetch, fuse and describe TREC run files.")
runs_app.command("validate")(validate.runs_validate)
runs_app.command("fetch")(retrieve.runs_fetch)
runs_app.command("fuse")(run_files.runs_fuse)
runs_app.command("info")(run_files.runs_info)

qrels_app = _group("Check relevance judgments.")
qrels_app.command("validate")(validate.qrels_validate)

topics_app = _group("Check topics and test sets.")
topics_app.command("validate")(validate_topics.topics_validate)

index_app = _group("Build indexes ahead of searching.")
index_app.command("build")(index.index_build)

benchmark_app = _group("Compare retrieval modes or run files on the same queries.")
benchmark_app.command("run")(bench.benchmark_run)
benchmark_app.command("compare")(compare.benchmark_compare)
benchmark_app.command("compare-vectors")(compare_vectors.benchmark_compare_vectors)
benchmark_app.command("multilingual")(multilingual.benchmark_multilingual)
benchmark_app.command("gate")(gate.benchmark_gate)
benchmark_app.command("verify")(reports.benchmark_verify)
benchmark_app.command("merge")(reports.benchmark_merge)
benchmark_app.command("list")(reports.benchmark_list)
benchmark_app.command("show")(reports.benchmark_show)
benchmark_app.command("metrics")(serve.benchmark_metrics)

testset_app = _group("Check, convert, split and renew test sets: queries with graded terms.")
testset_app.command("validate")(testset_checks.testset_validate)
testset_app.command("list")(testset.testset_list)
testset_app.command("convert")(testset.testset_convert)
testset_app.command("split")(testset.testset_split)
testset_app.command("overfitting")(testset_checks.testset_overfitting)
testset_app.command("refresh")(testset.testset_refresh)
testset_app.command("agreement")(testset_checks.testset_agreement)

extraction_app = _group("Extract ontology terms from documents, and score what was extracted.")
extraction_app.command("run")(extraction.extraction_run)
extraction_app.command("compare")(extraction.extraction_compare)
extraction_app.command("sweep")(extraction.extraction_sweep)

review_app = _group("Have people judge results side by side, and see what they think.")
review_app.command("serve")(review.review_serve)
review_app.command("show")(review.review_show)
review_app.command("export")(review.review_export)

app = _group(
    """Validate, fetch, score and compare TREC runs.

    \b
    Start here:
      trectools-plus runs validate my.run --qrels qrels.txt      is my run file sound?
      trectools-plus eval qrels.txt my.run                       how good is it?
      trectools-plus benchmark run --dataset DIR --modes lexical,vector,hybrid
                                                                 which mode is best here?
      trectools-plus explain nDCG@10                             what does that figure mean?

    Exit codes: 0 done, 1 a check found something, 2 wrong usage or unreadable input,
    3 two things that cannot be compared.
    """
)
app.add_typer(runs_app, name="runs")
app.add_typer(qrels_app, name="qrels")
app.add_typer(topics_app, name="topics")
app.add_typer(testset_app, name="testset")
app.add_typer(benchmark_app, name="benchmark")
app.add_typer(extraction_app, name="extraction")
app.add_typer(index_app, name="index")
app.add_typer(review_app, name="review")
app.command("query")(query.query_text)
app.command("eval")(score.evaluate_runs)
app.command("explain")(explain.explain_name)
app.command("serve")(serve.serve)
app.command("trec-eval", context_settings=trec_eval.CONTEXT)(trec_eval.trec_eval)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"trectools-plus {version('trectools-plus')}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options before the command."""


# A callback of its own keeps these groups although each holds one command.
@qrels_app.callback()
@topics_app.callback()
@index_app.callback()
def _keep_group() -> None:
    """Only a group."""


def _entry(group: typer.Typer, name: str) -> Any:
    return lambda: run_command(group, name)


main = _entry(app, "trectools-plus")
runs_main = _entry(runs_app, "runs")
benchmark_main = _entry(benchmark_app, "benchmark")
