"""The console commands ``trectools-plus``, ``runs`` and ``benchmark``, and their sub-commands.

The module of a command is imported when it is called. Help shows options in panels.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from trectools_plus import formats
from trectools_plus.cli.errors import run_command
from trectools_plus.cli.options import Grouped
from trectools_plus.cli.printing import Verbosity


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command that is not yet imported.

    Attributes:
        home: ``module:function``, below ``trectools_plus.cli.commands``.
        summary: The first line of the help; the function's docstring is the rest.
        reads_flags: Whether the command parses all flags itself, ``-q``, ``-v`` and ``-h`` too.
        results: Parameters that name files for results. They replace neither an input of the
            command nor any run, qrels or topics.
        data: Parameters that name a run, qrels or a test set to write. They replace no input.
    """

    home: str
    summary: str
    reads_flags: bool = False
    results: Sequence[str] = ()
    data: Sequence[str] = ()


class Command(TyperCommand):
    """A command whose help shows its options in panels."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, options without a panel, and the panels."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                usual = f"{parameter.param_type_name.capitalize()}s"
                panel = getattr(parameter, "rich_help_panel", None) or usual
                panels.setdefault(panel, []).append(record)
        for name, records in panels.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class LazyGroup(TyperGroup):
    """A group that lists its commands from a table, and imports only the command that is called."""

    entries: ClassVar[Mapping[str, CommandEntry]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        listed = {
            name: TyperCommand(name, short_help=entry.summary)
            for name, entry in self.entries.items()
        }
        self.commands = {**listed, **self.commands}

    def load(self, name: str) -> Any:
        """Return a command or group by name; import the command's module."""
        if name not in self.entries:
            return self.commands[name]
        return load_command(name, self.entries[name])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is called, and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else self.load(name), rest


def load_command(name: str, entry: CommandEntry) -> Any:
    """Import a command's module, and make a Typer command from its function."""
    module, _, function = entry.home.partition(":")
    command = getattr(import_module(f"trectools_plus.cli.commands.{module}"), function)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    settings: dict[str, Any] = {}
    if entry.reads_flags:
        settings = {"help_option_names": ["--help"], "ignore_unknown_options": True}
        settings["allow_interspersed_args"] = False
    single.command(
        name,
        cls=Command,
        help=f"{entry.summary}\n\n{inspect.getdoc(command) or ''}",
        context_settings=settings,
    )(make_callback(command, entry))
    return get_command(single)


def make_callback(command: Callable[..., None], entry: CommandEntry) -> Callable[..., None]:
    """Return a function for a command that has a parameter for each option, for Typer."""
    options = Grouped(command)
    verbosity = None if entry.reads_flags else Grouped(Verbosity)

    def call(**values: Any) -> None:
        if verbosity is not None:
            Verbosity.current = verbosity.collect(values)
        _guard_outputs(values, entry)
        options.collect(values)

    parameters = {**options.parameters(), **(verbosity.parameters() if verbosity else {})}
    call.__annotations__ = {name: annotation for name, (annotation, _) in parameters.items()}
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=of)
            for name, (of, default) in parameters.items()
        ]
    )
    return call


def _guard_outputs(values: Mapping[str, Any], entry: CommandEntry) -> None:
    """Refuse outputs that would destroy data, before the command does anything."""
    outputs = {*entry.results, *entry.data}
    inputs = [path for name in values.keys() - outputs for path in _paths(values[name])]
    named = [str(path).partition("=")[2] for path in inputs]  # NAME=FILE
    for name in outputs:
        for output in _paths(values[name]):
            if str(output) == "-":
                continue
            formats.refuse_overwriting(output, [*inputs, *named])
            for path in inputs:
                if isinstance(path, Path) or Path(path).is_dir():
                    from trectools_plus import benchmark

                    benchmark.refuse_overwriting_in(Path(path), output)
            if name in entry.results:
                formats.refuse_lost_data(output)


def _paths(value: Any) -> list[str | Path]:
    """Return the paths in the value of a parameter."""
    values = value if isinstance(value, list | tuple) else [value]
    return [path for path in values if isinstance(path, str | Path)]


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
        "Check topics (TSV, CSV, JSON, TREC SGML, XML) and test sets (YAML, JSON).",
    ),
}
TESTSET = {
    "validate": CommandEntry(
        "validate:validate_testset",
        "Check test sets (YAML, JSON): ids, texts, grades, terms, language, near-duplicates, "
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
        "sets:demo",
        "Compare three search modes on a small sample collection, and write a report.",
    ),
    "files": CommandEntry(
        "sets:packaged_files",
        "List or copy examples, JSON Schemas, monitoring rules and sample data of the package.",
    ),
    "eval": CommandEntry(
        "eval:evaluate_runs", "Score run files against relevance judgments.", results=["output"]
    ),
    "compare": CommandEntry(
        "benchmark:compare_runs",
        "Compare run files: the best one, significance, a table for a paper.",
        results=["to"],
    ),
    "explain": CommandEntry(
        "eval:explain_name", "Explain what a measure computes, or what a validation rule checks."
    ),
    "query": CommandEntry(
        "search:query_text", "Search the terms of an ontology, or other documents, for one text."
    ),
    "serve": CommandEntry(
        "search:serve",
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


runs_app = _group("Validate, fetch, fuse, convert and describe TREC run files.", RUNS)
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
    "qrels": _group("Check and convert relevance judgments (qrels).", QRELS),
    "topics": _group("Check topics and test sets.", TOPICS),
    "testset": _group(
        "Check, convert, split and refresh test sets (queries with graded terms), and compare the "
        "grades of annotators.",
        TESTSET,
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


main = partial(run_command, app, "trectools-plus")
runs_main = partial(run_command, runs_app, "runs")
benchmark_main = partial(run_command, benchmark_app, "benchmark")
