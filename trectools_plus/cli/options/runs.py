"""Arguments of commands that name run files, and the options of commands that score runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from typer import Argument, Option

from trectools_plus import formats, measures, validation
from trectools_plus.choices import (
    DEFAULT_MEASURES,
    MISSING_HELP,
    NO_RELEVANT_HELP,
    Averaging,
    Missing,
    NoRelevant,
)
from trectools_plus.cli.options.common import (
    Columns,
    Measures,
    OntologyFile,
    Scheduler,
    StrictInput,
    measure_names,
)
from trectools_plus.cli.verbosity import show_progress
from trectools_plus.distributed import use_scheduler
from trectools_plus.errors import UsageError


@dataclass(frozen=True)
class RunArgument:
    """A run file, and the name that the user gave to it, or an empty text."""

    path: str
    given: str

    @cached_property
    def name(self) -> str:
        """The tag, which is read only if the names of two files are equal."""
        return validation.load_run(self.path).name


def parse_runs(values: Sequence[str], where: str) -> list[RunArgument]:
    """Parse run files and ``NAME=FILE`` values; a file that exists has no ``NAME=``.

    Args:
        values: The values.
        where: The option or argument, for error messages.

    Raises:
        UsageError: If a name or file is empty, or a name is given twice.
    """
    runs: list[RunArgument] = []
    for value in values:
        name, equals, path = value.partition("=")
        if not equals or formats.is_address(value) or Path(value).exists():
            name, path = "", value
        elif not name.strip() or not path:
            raise UsageError(
                f"expected NAME=FILE but got '{value}'", where=where, remedy="write bm25=bm25.run"
            )
        if name and name in (run.given for run in runs):
            raise UsageError(f"two runs are named '{name}'", where=where)
        runs.append(RunArgument(path, name))
    return runs


@dataclass(frozen=True)
class RunFiles:
    """Run files that are compared instead of searching."""

    runs: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=FILE...",
            help="Run files; needs --qrels or --dataset. Without NAME=, a run is named after its "
            "file.",
        ),
    ] = None
    further_runs: Annotated[list[str] | None, Argument(metavar="NAME=FILE", hidden=True)] = None

    def by_name(self) -> dict[str, str] | None:
        """Return the files by the names of the runs; ``None`` without any.

        Raises:
            UsageError: If a value is wrong.
        """
        runs = parse_runs([*(self.runs or ()), *(self.further_runs or ())], "--runs")
        named = formats.name_runs(runs, [run.given for run in runs])
        return {name: run.path for name, run in named.items()} or None


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

    measure: Measures = None
    missing: Annotated[Missing, Option(help=MISSING_HELP)] = "zero"
    no_relevant: Annotated[NoRelevant, Option(help=NO_RELEVANT_HELP)] = "zero"
    ontology: OntologyFile = None
    columns: Columns = None
    exclude: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="Documents to leave out of runs and judgments before ranks are counted: lines "
            "'query_id doc_id', or qrels.",
        ),
    ] = None
    strict_input: StrictInput = False
    scheduler: Scheduler = None

    def score(self, qrels: str, runs: Sequence[str]) -> Scored:
        """Read, check and score files.

        Args:
            qrels: The judgments.
            runs: Run files, or ``NAME=FILE``.

        Raises:
            UsageError: If an option is wrong.
            TrectoolsPlusError: If a file cannot be scored.
        """
        given = parse_runs(runs, "RUN")
        paths = [run.path for run in given]
        chosen = measures.parse_measures(
            DEFAULT_MEASURES if self.measure is None else measure_names(self.measure)
        )
        if self.ontology is not None:
            measures.check_files_used(chosen, self.ontology)
            chosen = measures.bind_files(chosen, self.ontology)
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
            named = [run.given for run in given]
            tables = formats.name_runs(opened.runs, named)
            averaging = Averaging(self.missing, self.no_relevant)
            notes = [*measures.notes_on_judges(opened.qrels), *opened.notes]
            evaluation = measures.score_runs(opened.qrels, tables, chosen, averaging, notes=notes)
        return Scored(evaluation, tables, opened.qrels, exclusions)
