"""Options that commands of several groups share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from trectools_plus import formats, measures, reporting
from trectools_plus.choices import MEASURE_HELP, ONTOLOGY_HELP
from trectools_plus.errors import UsageError
from trectools_plus.text import split_list

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
        "query=q,doc_id=_id,score=_score. Fields: query, doc_id, score, rank, system; in qrels "
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
