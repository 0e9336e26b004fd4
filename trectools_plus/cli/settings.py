"""Options of commands, made from the settings of a model, and ``--set`` for all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from trectools_plus import benchmark, formats, retrieval
from trectools_plus.choices import Panel
from trectools_plus.cli.options import Parameters, refuse_options, split_assignments
from trectools_plus.cli.printing import note
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.setting_types import Option

Given = dict[str, Any]
"""Settings that the user gave, by name; those of a nested model are a dictionary."""


class SettingOptions:
    """The options of a model and ``--set``, a group of options.

    The command gets a dictionary of the settings that the user gave::

        def command(options: Annotated[Given, SettingOptions(BenchmarkConfig, "seed")]) -> None:

    Args:
        model: A model whose fields are made by
            :func:`~trectools_plus.retrieval.setting_types.setting`.
        names: The settings; all that have an option if none is given. A nested model is named
            like a setting, and stands for all its options; one of them is named with a dot.
        assigns: Whether there is the option ``--set``.
    """

    def __init__(self, model: type[BaseModel], *names: str, assigns: bool = True) -> None:
        self._model = model
        self._fields = {"_".join(place): (place, field) for place, field in _find(model, names)}
        self._set: Parameters = {"setting": (_SET, None)} if assigns else {}

    def parameters(self) -> Parameters:
        """Return the parameters for Typer."""
        options = {name: (_annotate(*pair), None) for name, pair in self._fields.items()}
        return {**options, **self._set}

    def collect(self, values: dict[str, Any]) -> Given:
        """Take the values of the options out of those of a command, and return the settings.

        Raises:
            UsageError: If an assignment cannot be read.
        """
        settings: Given = {}
        for parameter, (place, field) in self._fields.items():
            value = _read(field.json_schema_extra, values.pop(parameter))
            if value is not None:
                _put(settings, place, value)
        assignments = values.pop("setting") if self._set else None
        for name, text in split_assignments(assignments or [], "--set").items():
            path = name.split(".")
            if path[0] in _OF_SEARCH and self._model is not retrieval.RetrievalSettings:
                path.insert(0, "retrieval")
            _put(settings, path, text)
        return settings


_SET = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other setting, for example k1=1.2 or fusion=rrf; repeatable. `benchmark run "
        "--settings` lists all.",
        rich_help_panel=Panel.SEARCH,
    ),
]
_OF_SEARCH = {*retrieval.RetrievalSettings.model_fields, "fusion_method"}


def _put(settings: Given, path: Sequence[str], value: Any) -> None:
    for step in path[:-1]:
        settings = settings.setdefault(step, {})
        if not isinstance(settings, dict):
            raise UsageError(f"--set {'.'.join(path)}: an option sets all of {step}")
    settings[path[-1]] = value


def _find(
    model: type[BaseModel], names: Sequence[str], place: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """Yield the settings that have an option, each with the names on the way to it."""
    for path in names or model.model_fields:
        name, _, inner = path.partition(".")
        field = model.model_fields[name]
        if isinstance(field.json_schema_extra, Option) and not inner:
            yield (*place, name), field
        nested = _nested_model(field)
        if nested is not None:
            yield from _find(nested, [inner] if inner else [], (*place, name))


def _annotate(place: tuple[str, ...], field: FieldInfo) -> Any:
    """Return the annotation of the parameter of a setting, for Typer."""
    option: Any = field.json_schema_extra
    names = option.names.split() or [f"--{place[-1].replace('_', '-')}"]
    kind, text = _kind_of(field.annotation), option.help or field.description
    if option.constant is not None:
        kind = bool
    elif option.is_repeated:
        kind = list[str]
    elif kind not in (bool, int, float) and (get_origin(kind) is not Literal or option.metavar):
        kind = str
    default, value = option.default, field.default
    if default == "" and not isinstance(value, bool) and field.default_factory is None:
        default = ",".join(value) if isinstance(value, tuple) else value
    made = typer.Option(
        *names,
        metavar=option.metavar or None,
        help=text if default in (None, "") else f"{text}  [default: {default}]",
        rich_help_panel=option.panel,
        min=option.minimum,
    )
    return Annotated[kind | None, made]


def _read(option: Any, value: Any) -> Any:
    """Return the setting for a value of its option; ``None`` if it is not given."""
    if value is None or value is False or value == []:
        return None
    if option.constant == "cuda" and not retrieval.has_cuda():
        note("no GPU found; models run on the CPU")
        return None
    if isinstance(value, list):
        return ",".join(value)
    return value if option.constant is None else option.constant


def _nested_model(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a setting that is one, perhaps optional."""
    kind = _kind_of(field.annotation)
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _kind_of(annotation: Any) -> Any:
    """Return a type without annotations, of a union its first one."""
    if get_origin(annotation) in (Annotated, Union, UnionType):
        return _kind_of(get_args(annotation)[0])
    return annotation


def list_settings(wanted: bool) -> None:
    """List the settings of a benchmark, and exit; the callback of ``--settings``."""
    if wanted:
        for name, default, description in _setting_rows(benchmark.BenchmarkConfig):
            typer.echo(f"{name}={default}\n    {description}")
        raise typer.Exit


def _setting_rows(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the name, default and description of each setting, those of nested models with dots."""
    for name, field in model.model_fields.items():
        nested = _nested_model(field)
        if nested is not None:
            yield from _setting_rows(nested, "" if name == "retrieval" else f"{prefix}{name}.")
            continue
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        shown = ",".join(map(str, default)) if isinstance(default, tuple | dict) else default
        text = "" if shown is None else " ".join(str(shown).split())
        yield f"{prefix}{name}", text, field.description or ""


def moved_option(option: str) -> str | None:
    """Return the assignment that replaces an option of earlier versions; ``None`` without one."""
    key = option.removeprefix("--").removeprefix("no-").replace("-", "_")
    value = "false" if option.startswith("--no-") else "VALUE"
    names = (name for name, *_ in _setting_rows(benchmark.BenchmarkConfig))
    return next((f"{name}={value}" for name in names if name.replace(".", "_") == key), None)


SearchSettings = Annotated[Given, SettingOptions(retrieval.RetrievalSettings)]
IndexSettings = Annotated[
    Given,
    SettingOptions(
        retrieval.RetrievalSettings, "multi_vector", "embedding_model", "splade_model", "device"
    ),
]
"""Settings that determine indexes."""
DocumentFiles = Annotated[
    Given,
    SettingOptions(benchmark.BenchmarkConfig, "dataset", "corpus", "ontology", assigns=False),
]
"""The documents to search; by default the HPO."""


def refuse_unused(
    options: Given, modes: Sequence[str], settings: retrieval.RetrievalSettings
) -> None:
    """Check that at least one mode uses each of the settings of the search that the user gave.

    Args:
        options: The settings of the search.
        modes: The modes of the embedded backend, with the names of several embedding models.
        settings: All settings, with the choice of vectors for the documents.

    Raises:
        UsageError: If no mode uses a setting.
    """
    unused = retrieval.unused_settings(modes, settings)
    for name in options.keys() & unused.keys():
        refuse_options({f"the setting {name}": options[name]}, f"has no effect: {unused[name]}")


def open_documents(files: Given) -> formats.Corpus:
    """Open the documents that ``--dataset``, ``--corpus`` or ``--ontology`` names, or the HPO.

    Raises:
        UsageError: If several are given, or the dataset is unknown.
        InputError: If it cannot be read.
    """
    if "corpus" in files:
        if len(files) > 1:
            raise UsageError("--corpus and --dataset or --ontology exclude each other")
        return formats.load_corpus(files["corpus"])
    dataset, ontology = files.get("dataset", "hpo"), files.get("ontology")
    if dataset == "hpo":
        return retrieval.open_terms(ontology)
    refuse_options({"--ontology": ontology}, "needs --dataset hpo")
    return benchmark.open_corpus(dataset)


def open_data(
    settings: benchmark.FetchSettings,
) -> tuple[formats.Corpus | None, formats.Topics]:
    """Open documents and queries.

    Args:
        settings: The settings.

    Raises:
        UsageError: If settings exclude each other, or documents or queries are missing.
        InputError: If a file cannot be read.
    """
    dataset, corpus, topics = settings.dataset, settings.corpus, settings.topics
    if dataset != "hpo":
        refuse_options(
            {"--test-file": settings.test_file, "--ontology": settings.ontology},
            "needs --dataset hpo",
        )
    if dataset is not None:
        refuse_options({"--corpus": corpus, "--topics": topics}, "and --dataset exclude each other")
        collection = benchmark.open_collection(
            dataset, settings.test_file, settings.ontology, unknown_terms="drop"
        )
        return collection.corpus, collection.topics
    if topics is None or (corpus is None and settings.is_embedded):
        raise UsageError(
            "no collection to search",
            remedy="give --dataset, or --corpus and --topics, or name them in the file of --config",
        )
    documents = None if corpus is None else formats.load_corpus(corpus)
    return documents, formats.read_topics(topics, settings.topic_options)
