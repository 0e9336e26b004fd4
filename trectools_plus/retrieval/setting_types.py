"""Declaration of settings, and types of those that users write as text, with their errors.

A field that :func:`setting` makes is declared once: commands make their option from it, see
``cli/settings.py``.

A setting arrives as a Python value, from the command line, or from a YAML file, whose scalars are
read as text. Texts that YAML 1.1 would convert, such as ``010`` (8), ``yes`` (true) or ``1:40``
(100), are refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationError

from trectools_plus.errors import UsageError
from trectools_plus.models import Model, explain_problem
from trectools_plus.text import split_list


class SettingsModel(Model):
    """Base of settings: immutable, and without other names."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
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


def _from_text(pattern: str, read: Callable[[str], Any]) -> BeforeValidator:
    """Return a validator that reads texts of one form; others, and other types, are refused."""
    form = re.compile(pattern)
    return BeforeValidator(
        lambda value: read(value) if isinstance(value, str) and form.fullmatch(value) else value
    )


WholeNumber = Annotated[int, Strict(), _from_text("[+-]?(0|[1-9][0-9]*)", int)]
"""A whole number, or its text without leading zeros, underscores or colons."""
Number = Annotated[
    float,
    Strict(),
    _from_text(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", float),
]
"""A number, or its text as a plain decimal or in the form ``1e-3``."""
Flag = Annotated[bool, Strict(), _from_text("(?i)true|false", lambda text: text.lower() == "true")]
"""A boolean, or the text ``true`` or ``false``."""
Names = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: split_list(value) if isinstance(value, str) else value),
]
"""A list of texts, or one text with its items separated by commas."""
NONE = BeforeValidator(lambda value: None if value in ("none", "") else value)
"""Reads ``none`` and an empty text as no value."""
OptionalText = Annotated[str | None, NONE]


BUILTIN = "builtin"
"""The name of the built-in embeddings among several models."""
_MODEL_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,39}")
"""Valid names of models: they are part of the names of modes and run files."""


def read_models(value: Any) -> Any:
    """Return the value of ``embedding_model``: a folder, or several folders by name.

    Args:
        value: The value, or a text like ``A=DIR,B=DIR``, in which a folder without a name is named
            after itself.

    Raises:
        ValueError: If the name of a model is not valid or repeated, or there are none.
    """
    value = os.fspath(value) if isinstance(value, os.PathLike) else value
    if isinstance(value, str):
        if Path(value).exists() or not re.search("[=,]", value):
            return None if value == BUILTIN else value
        pairs = [part.rpartition("=")[::2] for part in split_list(value)]
        named = [(name or re.sub(r"[^\w.-]", "_", Path(path).name), path) for name, path in pairs]
    elif isinstance(value, Mapping):
        named = list(value.items())
    else:
        return value
    names = [str(name) for name, _ in named]
    is_valid = all(map(_MODEL_NAME.fullmatch, names))
    if not names or not is_valid or len({*map(str.casefold, names)}) < len(names):
        raise ValueError(
            "expected different names of letters, digits and _ . -, at most 40, but got "
            f"{', '.join(names) or 'none'} — write A=DIR,B=DIR"
        )
    return {name: path.strip() if isinstance(path, str) else path for name, path in named}


Made = TypeVar("Made", bound=BaseModel)


def make_model(model: type[Made], values: Mapping[str, Any]) -> Made:
    """Build settings from a user's values.

    Raises:
        UsageError: If a name is unknown or a value out of range; the message reports the first
            such setting.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        problem, remedy = explain_problem(first)
        if first["type"] == "extra_forbidden":
            problem, remedy = (
                f"unknown setting '{name}'",
                f"use one of {', '.join(model.model_fields)}",
            )
        raise UsageError(problem, where=name or "settings", remedy=remedy) from error
