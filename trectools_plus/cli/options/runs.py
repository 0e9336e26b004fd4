"""Arguments of commands: run files, ``NAME=FILE``, and names of measures after them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from trectools_plus import formats, measures, validation
from trectools_plus.choices import (
    DEFAULT_MEASURES,
    MISSING_HELP,
    NO_RELEVANT_HELP,
    Averaging,
    Missing,
    NoRelevant,
    Panel,
)
from trectools_plus.cli.options.common import (
    USUAL_MEASURES,
    AnnotationsFile,
    Columns,
    Exclude,
    OntologyFile,
    Scheduler,
    StrictInput,
    measure_option,
)
from trectools_plus.cli.verbosity import show_progress
from trectools_plus.distributed import use_scheduler
from trectools_plus.errors import UsageError


class RunArgument(NamedTuple):
    """A run file, and the name that the user gave to it, if any."""

    path: str
    name: str | None


def parse_runs(values: Sequence[str], where: str) -> list[RunArgument]:
    """Parse run files and ``NAME=FILE`` values; a file that exists has no ``NAME=``.

    Args:
        values: The values.
        where: The option or argument, for error messages.

    Raises:
        UsageError: If a name or file is empty, or a name is given twice.
    """
    option = f"{where} " if where.startswith("-") else ""
    runs: list[RunArgument] = []
    for value in values:
        name, equals, path = value.partition("=")
        if not equals or _is_input(value):
            name, path = "", value
        if (equals and not name.strip() and path != value) or not path:
            raise UsageError(
                f"expected NAME=FILE but got '{value}'",
                where=where,
                remedy=f"write {option}bm25=bm25.run",
            )
        if name and name in (run.name for run in runs):
            raise UsageError(
                f"two runs are named '{name}'", where=where, remedy=f"write {option}NAME=FILE"
            )
        runs.append(RunArgument(path, name or None))
    return runs


def check_standard_input(paths: Sequence[str | Path | None]) -> None:
    """Check that standard input is named once.

    Raises:
        UsageError: If it is named twice.
    """
    if [str(path) for path in paths].count("-") > 1:
        raise UsageError(
            "standard input can be read only once", where="-", remedy="name a file instead of -"
        )


def read_runs(
    options: Sequence[str] | None, further: Sequence[str] | None, measures: str | None
) -> tuple[dict[str, str] | None, list[str] | None]:
    """Return the files of ``--runs`` by name, and the measures; arguments are further values.

    Raises:
        UsageError: If an argument is neither a run nor a measure, or a value is wrong.
    """
    named = None if measures is None else [measures]
    files, names = split_measures([*(options or ()), *(further or ())], named)
    unknown = [] if options else [file for file in further or () if file in files]
    if unknown and "=" not in unknown[0]:
        raise UsageError(
            f"unexpected argument '{unknown[0]}'", remedy="write --runs before run files"
        )
    runs = parse_runs(files, "--runs")
    # A file whose name is not given is named after its tag.
    tables = formats.name_runs([_RunFile(run.path) for run in runs], [run.name for run in runs])
    by_name = {name: run.path for name, run in tables.items()}
    return by_name or None, names if names or measures is not None else None


def split_measures(
    values: Sequence[str], options: Iterable[str] | None
) -> tuple[list[str], list[str]]:
    """Separate run files from names of measures, which may follow them.

    A file that exists, an address and ``NAME=FILE`` are runs, whatever their name.

    Args:
        values: The arguments.
        options: The values of ``--measure``.

    Returns:
        The runs, and the names of all measures: those of the option, then those of the arguments.

    Raises:
        UsageError: If a value looks like a measure, as in ``nDGC@10``, but there is none.
    """
    names = [name for text in options or () for name in measures.split_names(text)]
    runs: list[str] = []
    for value in values:
        labels = measures.split_names(value)
        try:
            if _is_run(value):
                labels = []
            measures.parse_measures(labels)
        except UsageError:
            if "@" in value and formats.name_of_file(value) == value:
                raise
            labels = []
        names += labels
        runs += [] if labels else [value]
    return runs, names


def _is_run(value: str) -> bool:
    name, equals, path = value.partition("=")
    return _is_input(value) or (bool(equals and name) and _is_input(path))


def _is_input(value: str) -> bool:
    return value == "-" or formats.is_address(value) or Path(value).exists()


class Scored(NamedTuple):
    """Runs and their scores.

    Attributes:
        evaluation: The scores.
        runs: The runs by name.
        qrels: The judgments.
        exclusions: The documents that are left out.
    """

    evaluation: measures.Evaluation
    runs: Mapping[str, Any]
    qrels: formats.Qrels | measures.JudgedQueries
    exclusions: validation.Exclusions | None


@dataclass(frozen=True)
class ScoringOptions:
    """Options of commands that score runs."""

    measure: Annotated[list[str] | None, measure_option(USUAL_MEASURES)] = None
    missing: Annotated[Missing, typer.Option(help=MISSING_HELP, rich_help_panel=Panel.FIGURES)] = (
        "zero"
    )
    no_relevant: Annotated[
        NoRelevant, typer.Option(help=NO_RELEVANT_HELP, rich_help_panel=Panel.FIGURES)
    ] = "zero"
    ontology: OntologyFile = None
    annotations: AnnotationsFile = None
    columns: Columns = None
    exclude: Exclude = None
    strict_input: StrictInput = False
    scheduler: Scheduler = None

    def score(self, qrels: str, runs: Sequence[str], names: Sequence[str]) -> Scored:
        """Read, check and score files.

        Args:
            qrels: The judgments.
            runs: Run files, or ``NAME=FILE``.
            names: Names of measures.

        Raises:
            UsageError: If an option is wrong.
            TrectoolsPlusError: If a file cannot be scored.
        """
        given = parse_runs(runs, "RUN")
        paths = [run.path for run in given]
        check_standard_input([qrels, *paths])
        chosen = measures.parse_measures(names if names or self.measure else DEFAULT_MEASURES)
        if self.ontology is not None or self.annotations is not None:
            measures.check_files_used(chosen, self.ontology, self.annotations)
            chosen = measures.bind_files(chosen, self.ontology, self.annotations)
        exclusions = None if self.exclude is None else validation.Exclusions.of(self.exclude)
        with use_scheduler(self.scheduler), show_progress() as progress:
            opened = measures.open_files(
                qrels,
                paths,
                chosen,
                strict_input=self.strict_input,
                columns=formats.column_names(self.columns),
                exclude=exclusions,
                progress=progress,
            )
            named = [run.name for run in given]
            tables = formats.name_runs_of_files(opened.runs, paths, given=named)
            averaging = Averaging(self.missing, self.no_relevant)
            notes = [*measures.notes_on_judges(opened.qrels), *opened.notes]
            evaluation = measures.score_runs(opened.qrels, tables, chosen, averaging, notes=notes)
        return Scored(evaluation, tables, opened.qrels, exclusions)


@dataclass(frozen=True)
class _RunFile:
    """A run file whose tag is read when it is needed."""

    path: str

    @cached_property
    def name(self) -> str:
        """The tag; ``stdin`` for standard input, which can be read only once."""
        from trectools_plus import validation

        return "stdin" if self.path == "-" else validation.load_run(self.path).name
