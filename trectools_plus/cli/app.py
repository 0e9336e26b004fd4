"""The console commands ``trectools-plus``, ``runs`` and ``benchmark``, and their sub-commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from trectools_plus.cli.errors import run_command
from trectools_plus.cli.lazy import CommandEntry, LazyGroup

RUNS = {
    "validate": CommandEntry(
        "validate:runs_validate",
        "Check TREC run files: columns, scores, ranks, duplicates, ties, depth, coverage.",
    ),
    "fetch": CommandEntry(
        "search:runs_fetch", "Search a collection and write one run file for each mode."
    ),
    "fuse": CommandEntry(
        "convert:runs_fuse", "Merge run files into one, query by query.", data=["output"]
    ),
    "convert": CommandEntry(
        "convert:runs_convert",
        "Convert a run to TREC form: from CSV, JSON, MS MARCO or TREC RAG.",
        data=["output"],
    ),
    "info": CommandEntry(
        "convert:runs_info", "Summarise a run file: size, depth, scores, ties, order."
    ),
}
QRELS = {
    "validate": CommandEntry(
        "validate:qrels_validate",
        "Check qrels: columns, grades, conflicts, queries without relevant documents.",
    ),
    "convert": CommandEntry(
        "convert:qrels_convert",
        "Convert qrels to TREC form: from CSV, BEIR, JSON, MS MARCO, prels or NTCIR.",
        data=["output"],
    ),
}
TOPICS = {
    "validate": CommandEntry(
        "validate:topics_validate",
        "Check topics (TSV, CSV, JSON, TREC SGML, XML) and test sets (YAML, JSON, CSV).",
    ),
}
TESTSET = {
    "validate": CommandEntry(
        "validate:validate_testset",
        "Check test sets (YAML, JSON, CSV): ids, texts, grades, terms, language, near-duplicates, "
        "leakage.",
    ),
    "list": CommandEntry("sets:testset_list", "List the shipped test sets."),
    "convert": CommandEntry(
        "sets:testset_convert", "Convert test sets to topics and qrels, or back.", data=["output"]
    ),
    "split": CommandEntry(
        "sets:testset_split",
        "Split a test set into a part for development and a held-out part.",
    ),
    "refresh": CommandEntry(
        "sets:testset_refresh",
        "Make the next version of a test set: replace queries by new ones of the same kind.",
        data=["output"],
    ),
    "agreement": CommandEntry(
        "sets:testset_agreement",
        "Compare two annotators' grades: Cohen's kappa with its interval, and the disagreements.",
    ),
}
BENCHMARK = {
    "run": CommandEntry(
        "benchmark:benchmark_run",
        "Compare retrieval modes or existing runs, and write a report.",
    ),
    "compare": CommandEntry(
        "reports:benchmark_compare",
        "Compare two reports, query by query: B minus A.",
    ),
    "compare-vectors": CommandEntry(
        "benchmark:benchmark_compare_vectors",
        "Compare search with one vector per document to search with one per part of a document.",
    ),
    "sweep": CommandEntry(
        "benchmark:benchmark_sweep",
        "Choose the best of many variants, and estimate what it is worth on new queries.",
    ),
    "multilingual": CommandEntry(
        "benchmark:benchmark_multilingual",
        "Evaluate test sets of several languages on the HPO, each language separately.",
    ),
    "gate": CommandEntry(
        "reports:benchmark_gate",
        "Fail if a measure dropped compared with a baseline report.",
    ),
    "verify": CommandEntry(
        "reports:benchmark_verify",
        "Score the runs of a report again, and check that the values are the same.",
    ),
    "list": CommandEntry("reports:benchmark_list", "List the reports in a folder, newest first."),
    "show": CommandEntry(
        "reports:benchmark_show",
        "Print a report, or write its comparison table.",
        results=["table"],
    ),
    "metrics": CommandEntry(
        "reports:benchmark_metrics",
        "Export the values of a report as Prometheus metrics.",
        results=["textfile"],
    ),
}
EXTRACTION = {
    "run": CommandEntry(
        "extraction:extraction_run", "Extract ontology terms from documents, and score them."
    ),
    "compare": CommandEntry(
        "extraction:extraction_compare",
        "Compare two extraction reports, document by document: B minus A.",
    ),
    "sweep": CommandEntry(
        "extraction:extraction_sweep", "Vary one setting, and show how precision and recall change."
    ),
}
INDEX = {
    "build": CommandEntry(
        "search:index_build",
        "Build indexes, so that the first search does not have to build them.",
    ),
}
REVIEW = {
    "serve": CommandEntry(
        "judgments:review_serve", "Serve a page on which annotators judge results side by side."
    ),
    "show": CommandEntry(
        "judgments:review_show", "Show the agreement of annotators, and the modes that they prefer."
    ),
    "export": CommandEntry(
        "judgments:review_export",
        "Export grades as qrels, of one annotator or of all.",
        data=["qrels"],
    ),
    "import": CommandEntry(
        "judgments:review_import", "Add judgments of people that were made elsewhere to a plan."
    ),
}
JUDGE = {
    "plan": CommandEntry(
        "judgments:judge_plan",
        "Pool documents of runs, and choose queries that people will judge.",
    ),
    "pilot": CommandEntry(
        "judgments:judge_pilot", "Estimate how many queries people must judge, from a few."
    ),
    "label": CommandEntry(
        "judgments:judge_label",
        "Let a model judge the documents of a plan, and store every answer.",
    ),
    "estimate": CommandEntry(
        "judgments:judge_estimate",
        "Estimate runs from the judgments of people and a model, with intervals.",
    ),
    "qrels": CommandEntry(
        "judgments:judge_qrels",
        "Write the judgments of people and a model as qrels that name who judged.",
        data=["qrels"],
    ),
}
TOP = {
    "demo": CommandEntry(
        "packaged:demo",
        "Compare three search modes on a small sample collection, and write a report.",
    ),
    "files": CommandEntry(
        "packaged:packaged_files",
        "List or copy examples, JSON Schemas, monitoring rules and sample data of the package.",
    ),
    "eval": CommandEntry(
        "eval:evaluate_runs", "Score run files against relevance judgments.", results=["output"]
    ),
    "compare": CommandEntry(
        "compare:compare_runs",
        "Compare run files: the best one, significance, a table for a paper.",
        results=["to"],
    ),
    "explain": CommandEntry(
        "explain:explain_name", "Explain what a measure computes, or what a validation rule checks."
    ),
    "query": CommandEntry(
        "search:query_text", "Search the terms of an ontology, or other documents, for one text."
    ),
    "serve": CommandEntry(
        "serve:serve",
        "Serve evaluation, validation and scoring over HTTP, and metrics for Prometheus.",
    ),
    "trec-eval": CommandEntry(
        "eval:score_like_trec_eval",
        "Score a run as trec_eval does, byte for byte.",
        reads_flags=True,  # -h is a flag of trec_eval, for example
    ),
}


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"trectools-plus {version('trectools-plus')}")
        raise typer.Exit


def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Options before the command."""


def _group(help_text: str, entries: Mapping[str, CommandEntry]) -> typer.Typer:
    group = typer.Typer(
        cls=type("Group", (LazyGroup,), {"entries": entries}),
        help=help_text,
        short_help=help_text.partition("\n")[0],
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    group.callback()(_common)
    return group


runs_app = _group("Validate, fetch, fuse and describe TREC run files.", RUNS)
benchmark_app = _group("Compare retrieval modes or run files on the same queries.", BENCHMARK)
app = _group(
    """Validate, fetch, score and compare TREC runs.

    \b
    Start here:
      trectools-plus demo                                        a report on sample data
      trectools-plus runs validate my.run --qrels qrels.txt      is my run file valid?
      trectools-plus eval qrels.txt my.run                       how good is it?
      trectools-plus compare my.run other.run --qrels qrels.txt  which run is better?
      trectools-plus benchmark run --dataset DIR --modes lexical,vector,hybrid
                                                                 which mode is best here?
      trectools-plus explain nDCG@10                             what does that figure mean?

    Exit codes: 0 success, 1 a check failed, 2 wrong usage or unreadable input, 3 inputs that
    cannot be compared.
    """,
    TOP,
)
_GROUPS = {
    "runs": runs_app,
    "qrels": _group("Check relevance judgments (qrels).", QRELS),
    "topics": _group("Check topics and test sets.", TOPICS),
    "testset": _group(
        "Check, convert, split and refresh test sets (queries with graded terms).", TESTSET
    ),
    "benchmark": benchmark_app,
    "extraction": _group(
        "Extract ontology terms from documents, and score the extraction.", EXTRACTION
    ),
    "index": _group("Build search indexes.", INDEX),
    "judge": _group("Judge results by people and a model, and estimate runs.", JUDGE),
    "review": _group(
        "Let annotators judge results side by side, and summarise their judgments.", REVIEW
    ),
}
for _name, _member in _GROUPS.items():
    app.add_typer(_member, name=_name)
# Phentrieve's name of the group: "benchmark extraction run".
benchmark_app.add_typer(_GROUPS["extraction"], name="extraction", hidden=True)


def _entry(group: typer.Typer, name: str) -> Any:
    return lambda: run_command(group, name)


main = _entry(app, "trectools-plus")
runs_main = _entry(runs_app, "runs")
benchmark_main = _entry(benchmark_app, "benchmark")
