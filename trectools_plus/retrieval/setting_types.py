"""Types of settings that users write as text (numbers, flags, lists), and their error messages.

A setting arrives as a Python value, from the command line, or from a YAML file, whose scalars
are read as text. Texts that YAML 1.1 would convert, such as ``010`` (8), ``yes`` (true) or
``1:40`` (100), are refused.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

from trectools_plus.models import show_value
from trectools_plus.text import split_list

"""Separates the problem from the remedy in the message of a validator."""

_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_FLAGS = {"true": True, "false": False}


def _parse_whole_number(value: Any) -> Any:
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if isinstance(value, bool | float | str):
        raise ValueError(f"expected a whole number but got {show_value(value)}")
    return value


def _parse_number(value: Any) -> Any:
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        return float(value)
    if isinstance(value, bool | str):
        raise ValueError(f"expected a number but got {show_value(value)}")
    return value


def _parse_flag(value: Any) -> Any:
    if isinstance(value, str) and value.lower() in _FLAGS:
        return _FLAGS[value.lower()]
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false but got {show_value(value)}")
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
