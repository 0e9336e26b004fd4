"""The table of built-in backends, which loads without any of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class BackendEntry:
    """A backend, before it is loaded.

    Attributes:
        home: ``module:class``.
        needs_corpus: Whether it searches documents that it is given.
        streams_documents: Whether it takes documents one by one, not in memory.
        finds_chunks: Whether its results can be chunks of documents.
        setting: The key of its own settings; ``None`` where it has none.
        model: ``module:class`` of these settings, where they have names.
        remedy: What to give where these settings are missing; ``None`` where it can do without.
        hint: A note in brackets in the help of ``--backend``.
    """

    home: str
    needs_corpus: bool = False
    streams_documents: bool = False
    finds_chunks: bool = True
    setting: str | None = None
    model: str | None = None
    remedy: str | None = None
    hint: str = ""

    def load(self) -> Any:
        """Import the class."""
        return _load(self.home)

    def setting_names(self) -> tuple[str, ...]:
        """Return the names of its settings."""
        return () if self.model is None else tuple(_load(self.model).model_fields)


def _load(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


_HOME = "trectools_plus.retrieval.backends"
BACKENDS: Mapping[str, BackendEntry] = {
    EMBEDDED: BackendEntry(
        f"{_HOME}.embedded.backend:EmbeddedBackend", needs_corpus=True, finds_chunks=False
    ),
    "http": BackendEntry(
        f"{_HOME}.http.source:HttpBackend",
        setting="http",
        model=f"{_HOME}.http.settings:HttpSettings",
        remedy="the service's URL — give http.url, or --http-url",
        hint="a JSON service",
    ),
    "milvus": BackendEntry(
        f"{_HOME}.milvus.backend:MilvusBackend",
        needs_corpus=True,
        streams_documents=True,
        setting="milvus",
        model=f"{_HOME}.milvus.settings:MilvusSettings",
    ),
    "python": BackendEntry(
        f"{_HOME}.python:PythonBackend",
        setting="retriever",
        remedy="`retriever` — give module:name",
        hint="a function or plug-in",
    ),
}
"""The built-in backends by name."""


def list_backends() -> str:
    """Return the names of the built-in backends with their hints."""
    return ", ".join(
        f"{name} ({entry.hint})" if entry.hint else name for name, entry in BACKENDS.items()
    )
