"""``benchmark multilingual``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import benchmark, reporting
from trectools_plus.cli import completion
from trectools_plus.cli.options.benchmark import FIGURE_SETTINGS, NoCache
from trectools_plus.cli.options.common import TextMarkdownJson, output_dir_option
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.retrieval import SearchOptions, Setting
from trectools_plus.cli.options.settings import Given, SettingOptions
from trectools_plus.cli.verbosity import show_progress
from trectools_plus.provenance import format_command

_SETTINGS = SettingOptions(
    benchmark.BenchmarkConfig,
    *("modes", "unknown_terms", "ontology", "annotations", "depth", "retrieval"),
    *FIGURE_SETTINGS,
)


@with_groups
def benchmark_multilingual(
    *,
    sets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SET]...",
            help="Test sets, one for each language or in several: shipped names or files.  "
            "[default: the standard sets of all five languages]",
            autocompletion=completion.complete_test_set,
        ),
    ] = None,
    output_dir: Annotated[
        Path, output_dir_option("Folder for all reports, with a sub-folder for each language.")
    ] = Path("results/multilingual"),
    given: Annotated[Given, _SETTINGS],
    setting: Setting = None,
    no_cache: NoCache = False,
    output_format: TextMarkdownJson = "text",
) -> None:
    """The command writes a report for each language, in a folder named after the language. In
    MultilingualReport.json and MultilingualComparison.md, it writes for each measure the unweighted
    mean of the languages' means, their variance, and the difference between the best and the worst
    language. Queries of different languages are never averaged together: a set in several
    languages is split. Two sets of one language are refused.

    If the sets are parallel (the same query ids with the same terms of the highest grade), gap and
    variance have intervals, and each difference of two languages is tested query by query.
    Otherwise the command names the ids or terms that differ.

    \b
    Examples:
      benchmark multilingual --modes lexical,vector -m RR@10
      benchmark multilingual hpo-en-tiny hpo-de-tiny hpo-fr-tiny
      benchmark multilingual hpo-en-standard mine-de.json --modes lexical,vector -m RR@10
      benchmark multilingual all-languages.json --unknown-terms drop
      benchmark multilingual hpo-en-tiny hpo-de-tiny --embedding-model models/e5
    """
    searching = SearchOptions(given.pop("retrieval", {}), setting)
    options = {**given, "retrieval": searching.values or None, "output_dir": str(output_dir)}
    settings = benchmark.load_config(options={**options, "dataset": "hpo"})
    searching.check_used(settings.mode_keys, settings.retrieval)
    with show_progress() as progress:
        result = benchmark.run_multilingual(
            sets or benchmark.PARALLEL_SETS,
            options,
            progress,
            command=format_command(sys.argv),
            cached=not no_cache,
        )
    files = reporting.write_multilingual(result)
    if output_format == "json":
        typer.echo(reporting.render_json(result.report), nl=False)
    elif output_format == "markdown":
        typer.echo(reporting.render_multilingual_markdown(result.report), nl=False)
    else:
        reporting.print_multilingual(result.report, sys.stdout)
        typer.echo(f"\nreport   {files['markdown']}\n         {files['json']}")
        for language in result.results:
            typer.echo(f"{language:<8} {files[language]}")
