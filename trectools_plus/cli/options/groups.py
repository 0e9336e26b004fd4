"""Groups of options that a command takes as one parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, Protocol, get_type_hints

Parameters = Mapping[str, tuple[Any, Any]]
"""Annotations and defaults of parameters, by name."""


class OptionGroup(Protocol):
    """Options of which a command gets one object."""

    def parameters(self) -> Parameters:
        """Return the parameters for Typer."""

    def collect(self, values: dict[str, Any]) -> Any:
        """Take the values of the options out of those of a command, and return the object."""


class _DataclassGroup:
    """The fields of a dataclass."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._names = [field.name for field in fields(kind)]

    def parameters(self) -> Parameters:
        types = get_type_hints(self._kind, include_extras=True)
        return {field.name: (types[field.name], field.default) for field in fields(self._kind)}

    def collect(self, values: dict[str, Any]) -> Any:
        return self._kind(**{name: values.pop(name) for name in self._names})


def _find_group(annotation: Any) -> OptionGroup | None:
    if is_dataclass(annotation):
        return _DataclassGroup(annotation)
    first = next(iter(getattr(annotation, "__metadata__", ())), None)
    return first if hasattr(first, "collect") else None


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with each group of options replaced by one parameter for each option.

    Typer makes options from a signature. A parameter is a group if its type is a dataclass, whose
    fields are the options, or ``Annotated`` with an :class:`OptionGroup`.
    """
    parameters: dict[str, tuple[Any, Any]] = {}
    groups: dict[str, OptionGroup] = {}
    for name, (annotation, default) in parameters_of(command).items():
        group = _find_group(annotation)
        parameters |= {name: (annotation, default)} if group is None else group.parameters()
        groups |= {} if group is None else {name: group}

    def call(**values: Any) -> None:
        collected = {name: group.collect(values) for name, group in groups.items()}
        command(**values, **collected)

    return with_parameters(command, call, parameters)


def parameters_of(command: Callable[..., None]) -> Parameters:
    """Return the parameters of a command."""
    parameters = inspect.signature(command, eval_str=True).parameters
    return {name: (one.annotation, one.default) for name, one in parameters.items()}


def with_parameters(
    command: Callable[..., None], call: Callable[..., None], parameters: Parameters
) -> Callable[..., None]:
    """Return a function for a command that has other parameters, for which Typer makes options."""
    called = wraps(command)(call)
    called.__annotations__ = {name: annotation for name, (annotation, _) in parameters.items()}
    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
            )
            for name, (annotation, default) in parameters.items()
        ]
    )
    return called
