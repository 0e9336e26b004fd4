"""Groups of options that a command takes as one value."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Any, Protocol

Parameters = Mapping[str, tuple[Any, Any]]
"""Annotations and defaults of parameters, by name."""


class OptionGroup(Protocol):
    """Options of which a command gets one object."""

    def parameters(self) -> Parameters:
        """Return the parameters for Typer."""

    def collect(self, values: dict[str, Any]) -> Any:
        """Take the values of the options out of those of a command, and return the object."""


class Grouped:
    """The parameters of a command or the fields of a dataclass, of which some are groups.

    A parameter is a group if its type is a dataclass, whose fields are the options, or
    ``Annotated`` with an :class:`OptionGroup`.

    Args:
        target: The command, or the dataclass; ``collect`` calls it.
    """

    def __init__(self, target: Callable[..., Any]) -> None:
        self._target = target
        declared = inspect.signature(target, eval_str=True).parameters
        self._declared = {name: (one.annotation, one.default) for name, one in declared.items()}
        self._groups: dict[str, OptionGroup] = {}
        for name, (annotation, _) in self._declared.items():
            first: Any = next(iter(getattr(annotation, "__metadata__", ())), None)
            if isinstance(annotation, type) and is_dataclass(annotation):
                self._groups[name] = Grouped(annotation)
            elif hasattr(first, "collect"):
                self._groups[name] = first

    def parameters(self) -> Parameters:
        """Return a parameter for each option."""
        parameters: dict[str, tuple[Any, Any]] = {}
        for name, declared in self._declared.items():
            group = self._groups.get(name)
            parameters |= {name: declared} if group is None else group.parameters()
        return parameters

    def collect(self, values: dict[str, Any]) -> Any:
        """Call the target with the values of its parameters, of which groups are one value each."""
        groups = {name: group.collect(values) for name, group in self._groups.items()}
        others = {name: values.pop(name) for name in self._declared.keys() - groups.keys()}
        return self._target(**groups, **others)
