"""The registry of built-in backends; importing it imports none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class BackendEntry:
    """Facts about a backend that are available before it is imported.

    Attributes:
        location: ``module:class`` of the backend.
        needs_corpus: Whether it searches documents that the user must give.
        streams_documents: Whether it reads documents one by one instead of in memory.
        finds_chunks: Whether its results can be chunks of documents.
        setting: The key of its settings in a configuration; ``None`` if it has none.
        model: ``module:class`` of these settings, if they are a mapping with fixed keys.
        requirement: The required setting and how to give it; ``None`` if no setting is required.
        has_timeout: Whether ``timeout`` limits each of its requests or calls.
        hint: A note for the help of ``--backend``, which shows it in parentheses.
    """

    location: str
    needs_corpus: bool = False
    streams_documents: bool = False
    finds_chunks: bool = True
    setting: str | None = None
    model: str | None = None
    requirement: str | None = None
    has_timeout: bool = False
    hint: str = ""

    def load(self) -> Any:
        """Import the class of the backend."""
        return _load(self.location)

    def setting_names(self) -> tuple[str, ...]:
        """Return the names of its settings."""
        return () if self.model is None else tuple(_load(self.model).model_fields)


def _load(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


_PACKAGE = "trectools_plus.retrieval.backends"
BACKENDS: Mapping[str, BackendEntry] = {
    EMBEDDED: BackendEntry(
        f"{_PACKAGE}.embedded.backend:EmbeddedBackend", needs_corpus=True, finds_chunks=False
    ),
    "http": BackendEntry(
        f"{_PACKAGE}.http.source:HttpBackend",
        setting="http",
        model=f"{_PACKAGE}.http.mapping:HttpSettings",
        requirement="the service's URL — give http.url, or --http-url",
        has_timeout=True,
        hint="a search engine or JSON service",
    ),
    "python": BackendEntry(
        f"{_PACKAGE}.python:PythonBackend",
        setting="retriever",
        requirement="`retriever` — give module:name",
        has_timeout=True,
        hint="a function or plug-in",
    ),
}
"""Built-in backends by name."""


def list_backends() -> str:
    """Return the names of the built-in backends with their hints."""
    return ", ".join(
        f"{name} ({entry.hint})" if entry.hint else name for name, entry in BACKENDS.items()
    )
