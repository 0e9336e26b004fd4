"""The settings of a search: options, and ``--set``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from trectools_plus import benchmark, formats, retrieval
from trectools_plus.choices import RANK_FUSION, Panel
from trectools_plus.cli.options.common import split_assignments
from trectools_plus.cli.options.from_models import Given, SettingOptions
from trectools_plus.errors import UsageError

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


def _list_settings() -> str:
    """Return each setting with its default, or with an example."""
    shown = []
    for name, field in retrieval.RetrievalSettings.model_fields.items():
        examples = field.examples or [field.default]
        shown.append(f"{name}={examples[0]}")
    return ", ".join(shown)


Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help=f"Setting of the modes; repeatable. Defaults and examples: {_list_settings()}.",
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
        if "reranker_model" in given:
            if "reranker" not in given:
                raise UsageError("--reranker-model needs --enable-reranker")
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


_SCORE_SETTINGS = ("normalisation", "missing_documents")
"""Settings of fusion methods that use scores."""


def parse_assignments(assignments: Sequence[str]) -> dict[str, SettingValue]:
    """Return the ``NAME=VALUE`` texts of ``--set`` as a dictionary.

    Raises:
        UsageError: If one has no ``=``, a name is set twice, or a setting has no effect.
    """
    texts = split_assignments(assignments, "--set")
    values = {name: _setting_value(name, text) for name, text in texts.items()}
    if "fusion_method" in values:
        values.setdefault("fusion", values.pop("fusion_method"))
    method = values.get("fusion", "weighted")
    unused = [name for name in ("weights", *_SCORE_SETTINGS) if name in values]
    if method in RANK_FUSION and unused:
        raise UsageError(
            f"{' and '.join(unused)} have no effect on fusion={method}"
            if len(unused) > 1
            else f"{unused[0]} has no effect on fusion={method}",
            remedy="add --set fusion=weighted",
        )
    return values


def _setting_value(name: str, text: str) -> SettingValue:
    if name in ("stemmer", "stopwords") and text == "none":
        return None
    if name == "weights" or (name == "stopwords" and "," in text):
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


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
