"""Options and groups of options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from typer import Argument, Option

from trectools_plus import formats, measures, reporting, validation
from trectools_plus.choices import (
    DEFAULT_MEASURES,
    MEASURE_HELP,
    MISSING_HELP,
    NO_RELEVANT_HELP,
    ONTOLOGY_HELP,
    Averaging,
    Missing,
    NoRelevant,
)
from trectools_plus.cli.printing import show_progress
from trectools_plus.errors import UsageError
from trectools_plus.text import split_list

Parameters = Mapping[str, tuple[Any, Any]]
"""Annotations and defaults of parameters, by name."""


class OptionGroup(Protocol):
    """Options of which a command gets one object."""

    def parameters(self) -> Parameters:
        """Return the parameters for Typer."""

    def collect(self, values: dict[str, Any]) -> Any:
        """Take the values of the options out of those of a command, and return the object."""


class Grouped:
    """The parameters of a command or the fields of a dataclass, of which some are groups.

    A parameter is a group if its type is a dataclass, whose fields are the options, or
    ``Annotated`` with an :class:`OptionGroup`.

    Args:
        target: The command, or the dataclass; ``collect`` calls it.
    """

    def __init__(self, target: Callable[..., Any]) -> None:
        self._target = target
        declared = inspect.signature(target, eval_str=True).parameters
        self._declared = {
            name: (parameter.annotation, parameter.default) for name, parameter in declared.items()
        }
        self._groups: dict[str, OptionGroup] = {}
        for name, (annotation, _) in self._declared.items():
            first: Any = next(iter(getattr(annotation, "__metadata__", ())), None)
            if isinstance(annotation, type) and is_dataclass(annotation):
                self._groups[name] = Grouped(annotation)
            elif hasattr(first, "collect"):
                self._groups[name] = first

    def parameters(self) -> Parameters:
        """Return a parameter for each option."""
        parameters: dict[str, tuple[Any, Any]] = {}
        for name, declared in self._declared.items():
            group = self._groups.get(name)
            parameters |= {name: declared} if group is None else group.parameters()
        return parameters

    def collect(self, values: dict[str, Any]) -> Any:
        """Call the target with the values of its parameters, of which groups are one value each."""
        groups = {name: group.collect(values) for name, group in self._groups.items()}
        others = {name: values.pop(name) for name in self._declared.keys() - groups.keys()}
        return self._target(**groups, **others)


TextOrJson = Annotated[
    Literal["text", "json"],
    Option("--format", help="Output format: text to read, json for programs."),
]
TextMarkdownJson = Annotated[
    Literal["text", "markdown", "json"],
    Option("--format", help="Output format: text to read, markdown for a page, json for programs."),
]
Report = Annotated[Path, Argument(metavar="REPORT", help="A BenchmarkReport.json, or its folder.")]
Host = Annotated[
    str,
    Option(
        help="Address to listen on; other addresses than loopback need --key-from-env.",
    ),
]
Port = Annotated[int, Option(min=0, max=65535, help="Port to listen on; 0 for a free one.")]
OntologyFile = Annotated[
    str | None,
    Option(
        "--ontology",
        metavar="FILE",
        help=f"{ONTOLOGY_HELP}  [default: the installed HPO]",
    ),
]
Confidence = Annotated[
    float,
    Option(
        help="Confidence level of the intervals, between 0 and 1.",
    ),
]
Config = Annotated[
    Path | None,
    Option(
        help="Configuration file (benchmark.yaml) with any of these settings; options override it."
    ),
]
KeyFromEnv = Annotated[
    str | None,
    Option(
        metavar="VARIABLE", help="Environment variable with the key that requests must contain."
    ),
]
Columns = Annotated[
    list[str] | None,
    Option(
        "--columns",
        metavar="FIELD=COLUMN",
        help="Columns of a table with unusual names, or their numbers: "
        "query=q,doc_id=_id,score=_score. Fields: query, doc_id, score, rank, tag; in qrels "
        "relevance.",
    ),
]
StrictInput = Annotated[
    bool,
    Option(
        "--strict-input",
        help="Refuse every error of the files (exit code 1), also those that change no figure.",
    ),
]
Seed = Annotated[
    int,
    Option(min=0, help="Seed of the random numbers."),
]
Scheduler = Annotated[
    str | None,
    Option(
        "--scheduler",
        metavar="tcp://HOST:PORT",
        help="Distribute the work over the workers of this Dask scheduler; the results are the "
        "same.  [default: this machine]",
    ),
]


Measures = Annotated[
    list[str] | None,
    Option("--measure", "--measures", "-m", help=MEASURE_HELP),
]


def measure_names(values: Sequence[str] | None) -> list[str]:
    """Return the names in the values of ``--measure``."""
    return [name for text in values or () for name in measures.split_names(text)]


def output_dir_option(help_text: str) -> Any:
    """Return the option ``--output-dir``."""
    return Option("--output-dir", "-o", metavar="DIR", help=help_text)


@dataclass(frozen=True)
class TopicFieldOptions:
    """Fields of topics."""

    id_field: Annotated[
        str | None,
        Option(
            "--id-field",
            help="Field of the topics with the id.  [default: by its name: query_id, number, …]",
        ),
    ] = None
    text_fields: Annotated[
        str | None,
        Option(
            "--text-fields",
            help="Fields of the topics with the text, comma-separated; several are joined.  "
            "[default: by their names: text, query, title, …]",
        ),
    ] = None

    def options(self) -> formats.TopicOptions:
        """Return the options of the reader of topics."""
        return formats.TopicOptions(self.id_field, tuple(split_list(self.text_fields or "")))


Everything = Annotated[
    bool,
    Option("--all", help="Print all measures and all notes, instead of at most 40 lines."),
]


@dataclass(frozen=True)
class TableOptions:
    """The layout of a table."""

    systems: Annotated[
        Literal["rows", "columns"] | None,
        Option(
            help="Systems as rows or as columns of the table.  [default: columns; rows if there "
            "are more than five]",
        ),
    ] = None
    decimals: Annotated[
        int | None,
        Option(
            min=0,
            max=12,
            help="Decimals of means and intervals.  [default: 4 for means, 3 for intervals]",
        ),
    ] = None
    caption: Annotated[
        str | None,
        Option(
            help="Caption of the table; with a backslash, it is LaTeX.  [default: the data]",
        ),
    ] = None
    label: Annotated[
        str | None,
        Option(
            help="Name of the table for LaTeX's \\ref, for example tab:main.",
        ),
    ] = None

    def layout(self) -> reporting.Layout:
        """Return the options as a layout."""
        return reporting.Layout(self.systems, self.decimals, self.caption, self.label)


def split_assignments(assignments: Sequence[str], option: str) -> dict[str, str]:
    """Return the ``NAME=VALUE`` texts of an option as a dictionary.

    Raises:
        UsageError: If one has no ``=``.
    """
    values: dict[str, str] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise UsageError(
                f"{option} {assignment} has no '='", remedy=f"write {option} NAME=VALUE"
            )
        values[name.strip()] = text.strip()
    return values


def refuse_options(options: Mapping[str, object], reason: str) -> None:
    """Refuse options that have no effect.

    Args:
        options: The values, by the names of the options; ``None`` or empty if not given.
        reason: The reason, which follows the name.

    Raises:
        UsageError: If one is given.
    """
    for name, value in options.items():
        if value not in (None, (), [], ""):
            raise UsageError(f"{name} {reason}", remedy=f"leave out {name}")


def numbers(text: str, option: str) -> tuple[float, ...]:
    """Return comma-separated numbers.

    Raises:
        UsageError: If the text has others.
    """
    try:
        return tuple(map(float, split_list(text)))
    except ValueError as error:
        raise UsageError(
            f"expected numbers with commas but got '{text}'", where=option, remedy="write 0.3,0.7"
        ) from error


@dataclass(frozen=True)
class RunArgument:
    """A run file, and the name that the user gave to it, or an empty text."""

    path: str
    given_name: str

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
        if name and name in (run.given_name for run in runs):
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
    further_runs: Annotated[list[str] | None, Argument(metavar="NAME=FILE...", hidden=True)] = None

    def by_name(self) -> dict[str, str] | None:
        """Return the files by the names of the runs; ``None`` without any.

        Raises:
            UsageError: If a value is wrong.
        """
        runs = parse_runs([*(self.runs or ()), *(self.further_runs or ())], "--runs")
        named = formats.name_runs(runs, [run.given_name for run in runs])
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
    exclusions: measures.Exclusions | None


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
        from trectools_plus.distributed import use_scheduler

        arguments = parse_runs(runs, "RUN")
        paths = [run.path for run in arguments]
        chosen = measures.parse_measures(
            DEFAULT_MEASURES if self.measure is None else measure_names(self.measure)
        )
        if self.ontology is not None:
            measures.check_files_used(chosen, self.ontology)
            chosen = measures.bind_files(chosen, self.ontology)
        exclusions = None if self.exclude is None else measures.Exclusions.of(self.exclude)
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
            named = [run.given_name for run in arguments]
            tables = formats.name_runs(opened.runs, named)
            averaging = Averaging(self.missing, self.no_relevant)
            notes = [*measures.notes_on_judges(opened.qrels), *opened.notes]
            evaluation = measures.score_runs(opened.qrels, tables, chosen, averaging, notes=notes)
        return Scored(evaluation, tables, opened.qrels, exclusions)
