"""The settings of a search: options, and ``--set``."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from trectools_plus import benchmark, formats, retrieval
from trectools_plus.choices import Panel
from trectools_plus.cli.options.common import split_assignments
from trectools_plus.cli.options.from_models import Given, SettingOptions, nested_model
from trectools_plus.cli.printing import WIDTH
from trectools_plus.errors import UsageError
from trectools_plus.text import split_list

SettingValue = str | bool | list[str] | None
"""A value of ``RetrievalSettings`` before it is checked: a text of ``--set``, or an option."""

_OPTIONS = SettingOptions(retrieval.RetrievalSettings)
_SPELLED = _OPTIONS.name_options()
SearchSettings = Annotated[Given, _OPTIONS]
IndexSettings = Annotated[
    Given,
    SettingOptions(
        retrieval.RetrievalSettings, "multi_vector", "embedding_model", "splade_model", "device"
    ),
]
"""Settings that determine indexes."""
DocumentFiles = Annotated[Given, SettingOptions(benchmark.BenchmarkConfig, "corpus", "ontology")]
"""Files of documents, beside ``--dataset``."""


def list_settings(model: type[BaseModel]) -> Callable[[bool], None]:
    """Return the callback of ``--settings``, which lists the settings of a model and exits."""

    def print_settings(wanted: bool) -> None:
        if not wanted:
            return
        for name, default, description in setting_rows(model):
            typer.echo(f"{name}={default}")
            typer.echo(textwrap.indent(textwrap.fill(description, WIDTH - 4), "    "))
        raise typer.Exit

    return print_settings


def setting_rows(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the name, default and description of each setting, those of nested models with dots."""
    for name, field in model.model_fields.items():
        nested = nested_model(field.annotation)
        if nested is not None:
            yield from setting_rows(nested, "" if name == "retrieval" else f"{prefix}{name}.")
            continue
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        shown = ",".join(map(str, default)) if isinstance(default, tuple | dict) else default
        text = "" if shown is None else str(shown).partition("\n")[0]
        yield f"{prefix}{name}", text, field.description or ""


def moved_option(option: str) -> str | None:
    """Return the assignment that replaces an option of earlier versions; ``None`` without one."""
    key = option.removeprefix("--").replace("-", "_")
    value = "false" if key.startswith("no_") else "VALUE"
    names = [name for name, _, _ in setting_rows(benchmark.BenchmarkConfig)]
    inner = {name.partition(".")[0] for name in names if "." in name}
    known = {name: f"{name}.NAME=VALUE" for name in inner}
    known |= {name.replace(".", "_"): f"{name}={value}" for name in names}
    return known.get(key.removeprefix("no_"))


Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Setting of the modes, for example k1=1.2 or fusion=rrf; repeatable. "
        "`benchmark run --settings` lists all.",
        rich_help_panel=Panel.SEARCH,
    ),
]


class SearchOptions:
    """The settings of a search that the user gave.

    Args:
        given: Those of the options.
        assignments: Those of ``--set``.

    Raises:
        UsageError: If ``--set`` cannot be read or repeats an option.
    """

    def __init__(self, given: Given, assignments: Sequence[str] | None) -> None:
        self._assigned = parse_assignments(assignments or [])
        named = {*given, *self._assigned}
        if "reranker_model" in named:
            if "reranker" not in named:
                raise UsageError("a reranker model needs --enable-reranker")
            if "reranker" in given:
                given["reranker"] = "cross-encoder"
        for name in given.keys() & self._assigned.keys():
            raise UsageError(
                f"{_SPELLED[name]} and --set {name} set the same value",
                remedy="leave one of them out",
            )
        self.values: dict[str, SettingValue] = {**self._assigned, **given}

    def check_used(self, modes: Sequence[str], settings: retrieval.RetrievalSettings) -> None:
        """Check that at least one mode uses each of the options.

        Args:
            modes: The modes of the embedded backend, with the names of several embedding models.
            settings: All settings, with the choice of vectors for the documents.

        Raises:
            UsageError: If no mode uses an option.
        """
        unused = retrieval.unused_settings(modes, settings)
        for name in self.values:
            if name in unused:
                option = f"--set {name}" if name in self._assigned else _SPELLED[name]
                raise UsageError(
                    f"{option} has no effect: {unused[name]}",
                    remedy="leave it out, or choose a mode that uses it",
                )


def assign_settings(
    given: Given, assignments: Sequence[str] | None, model: type[BaseModel]
) -> list[str]:
    """Add the settings of a model that ``--set`` names, and return the assignments of the search.

    Args:
        given: The settings that the user gave with other options; a dot in the name of an
            assignment leads to a setting of a nested model, or to a key of a mapping.
        assignments: The values of ``--set``.
        model: The model. Its settings that the search has too, and those of its field
            ``retrieval``, are settings of the search.

    Raises:
        UsageError: If an assignment has no ``=``, or a setting is given twice.
    """
    of_search = []
    search = {*retrieval.RetrievalSettings.model_fields, "fusion_method"}
    known = {*model.model_fields, *search} - {"retrieval", "runs"}
    for name, text in split_assignments(assignments or [], "--set").items():
        *path, last = name.removeprefix("retrieval.").split(".")
        first = [*path, last][0]
        if first not in known:
            near = get_close_matches(first, known, n=1)
            raise UsageError(
                f"unknown setting '{name}'",
                where="--set",
                remedy=f"did you mean {near[0]}?" if near else "see benchmark run --settings",
            )
        if first in search:
            of_search.append(f"{name.removeprefix('retrieval.')}={text}")
            continue
        place: Any = given
        for key in path:
            place = place.setdefault(key, {}) if isinstance(place, dict) else place
        if not isinstance(place, dict) or last in place:
            raise UsageError(
                f"--set {name}: an option sets the same value", remedy="leave one of them out"
            )
        place[last] = text
    return of_search


def parse_assignments(assignments: Sequence[str]) -> dict[str, SettingValue]:
    """Return the ``NAME=VALUE`` texts of ``--set`` as a dictionary.

    Raises:
        UsageError: If one has no ``=``, or a name is set twice.
    """
    texts = split_assignments(assignments, "--set")
    values = {name: _setting_value(name, text) for name, text in texts.items()}
    if "fusion_method" in values:
        values.setdefault("fusion", values.pop("fusion_method"))
    return values


def _setting_value(name: str, text: str) -> SettingValue:
    if name in ("stemmer", "stopwords") and text == "none":
        return None
    return split_list(text) if name == "weights" or (name == "stopwords" and "," in text) else text


def open_documents(
    dataset: str | None, *, corpus: str | None = None, ontology: str | None = None
) -> formats.Corpus:
    """Open the documents that ``--dataset``, ``--corpus`` or ``--ontology`` names, or the HPO.

    Raises:
        UsageError: If several are given, or the dataset is unknown.
        InputError: If it cannot be read.
    """
    if corpus is None:
        return benchmark.open_corpus(dataset or "hpo", ontology)
    if dataset is not None or ontology is not None:
        raise UsageError("--corpus and --dataset or --ontology exclude each other")
    return formats.load_corpus(corpus)
