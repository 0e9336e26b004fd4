"""Groups of options that a command takes as one parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with each parameter of a dataclass type replaced by the dataclass's fields.

    Typer makes options from a signature, and so makes one option for each field.

    Args:
        command: A command. If its parameters are keyword-only, the groups need no defaults.
    """
    parameters: dict[str, inspect.Parameter] = {}
    groups: dict[str, Any] = {}
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        group = hints[name]
        if not is_dataclass(group):
            parameters[name] = parameter.replace(annotation=group)
            continue
        groups[name] = group
        types = get_type_hints(group, include_extras=True)
        for field in fields(group):
            parameters[field.name] = inspect.Parameter(
                field.name, parameter.kind, default=field.default, annotation=types[field.name]
            )

    @wraps(command)
    def called(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    called.__annotations__ = {name: one.annotation for name, one in parameters.items()}
    called.__signature__ = inspect.Signature([*parameters.values()])  # type: ignore[attr-defined]
    return called
