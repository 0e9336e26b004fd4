"""Griffe extension: cross-references of docstrings as Markdown, and descriptions of settings."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from inspect import get_annotations
from pathlib import Path
from typing import Any

import griffe
from pydantic import BaseModel

sys.path.insert(0, str(Path(__file__).parent))
from reference import public_names, result_objects  # the folder is not a package

_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr|exc):`~?([\w.]+)`")


class CrossReferences(griffe.Extension):
    """Link :class:`Name` and similar roles to the entries of the reference."""

    def __init__(self) -> None:
        self.entries = {
            name: f"{module}.{name}"
            for listed in (result_objects(), public_names())
            for module, names in listed.items()
            for name in names
        }

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None:
            if obj.is_class and obj.name in self.entries:
                obj.docstring.value += describe_fields(obj.module.path, obj.name)
            text = _ROLE.sub(self._link, obj.docstring.value)
            text = re.sub(r"^\s*::$", "", text, flags=re.MULTILINE)  # code without a sentence
            obj.docstring.value = re.sub(r"::$", ":", text, flags=re.MULTILINE)

    def _link(self, role: re.Match[str]) -> str:
        name = role[1].rpartition(".")[2]
        return f"[`{name}`][{self.entries[name]}]" if name in self.entries else f"`{role[1]}`"


def describe_fields(module: str, name: str) -> str:
    """Return the section on the fields of a model that are described where they are declared."""
    kind = getattr(import_module(module), name)
    if not issubclass(kind, BaseModel) or kind.model_config.get("use_attribute_docstrings"):
        return ""
    own = [(one, kind.model_fields.get(one)) for one in get_annotations(kind)]
    lines = [f"    {one}: {field.description}" for one, field in own if field and field.description]
    return "\n\nAttributes:\n" + "\n".join(lines) if lines else ""
