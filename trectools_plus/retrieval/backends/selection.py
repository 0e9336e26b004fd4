"""Backends and their settings: keys of ``benchmark.yaml`` and ``--config``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from trectools_plus.choices import Panel
from trectools_plus.retrieval.backends.http_mapping import HttpSettings
from trectools_plus.retrieval.backends.http_templates import ENGINES, load_presets
from trectools_plus.retrieval.setting_types import Number, Option, SettingsModel, setting
from trectools_plus.retrieval.source import Backend, Collapse
from trectools_plus.text import split_list

EMBEDDED = "embedded"


BACKENDS: Mapping[str, tuple[str, str]] = {
    EMBEDDED: ("embedded:EmbeddedBackend", ""),
    "http": ("http:HttpBackend", "http"),
    "python": ("python:PythonBackend", "retriever"),
}
"""Backends by name: ``module:class`` in this package, and the key of its settings. One with
settings has documents of its own, may find chunks, and has a time limit for each request."""


def name_retrievers(value: Any) -> Any:
    """Return a mapping of ``module:name`` by mode.

    Args:
        value: The mapping, which is returned unchanged; or ``module:name`` or
            ``NAME=module:name``, several as a list or separated by commas.
    """
    if isinstance(value, str):
        value = split_list(value)
    if not isinstance(value, list | tuple):
        return value
    retrievers = dict[str, Any]()
    for text in value:
        name, equals, reference = str(text).partition("=")
        if not equals:
            name, reference = str(text).rpartition(":")[2].rpartition(".")[2], str(text)
        if name in retrievers:
            raise ValueError(f"two retrievers are named '{name}' — write NAME=module:name")
        retrievers[name] = reference
    return retrievers


def default_modes(retriever: Any, http: Any) -> list[str]:
    """Return the modes of a backend if the user names none; empty if the settings name none either.

    Args:
        retriever: The retrievers of the backend ``python``, in any form.
        http: The settings of the backend ``http``, or a mapping of them: their modes, or those of
            the engine; without ``vector_field``, only ``lexical``.
    """
    if retriever or not http:
        return list(name_retrievers(retriever or {}))
    if isinstance(http, HttpSettings):
        http = {name: getattr(http, name) for name in http.model_fields_set}
    if not isinstance(http, Mapping) or isinstance(http.get("modes"), Mapping):
        return list(http["modes"])
    engine = http.get("engine")
    modes = load_presets()[engine]["modes"] if engine in ENGINES and http.get("url") else {}
    return [mode for mode in modes if http.get("vector_field") or mode == "lexical"]


Retrievers = Annotated[dict[str, str], BeforeValidator(name_retrievers)]


class BackendSettings(SettingsModel):
    """The backend and its settings."""

    backend: str = setting(
        EMBEDDED,
        "Search backend: embedded, http (a search engine or JSON service), python (a function or "
        "plug-in).",
        Option("NAME", Panel.BACKENDS),
    )
    retriever: Retrievers = setting(
        dict,
        "For --backend python: a function of text and depth, an object with a method search, or "
        "the name of an installed plug-in. MODE=MODULE:NAME also names the mode. Repeatable.",
        Option("MODULE:NAME", Panel.BACKENDS, is_repeated=True),
    )
    http: HttpSettings | None = setting(
        None,
        "For the backend http: its settings, for example http.index=articles, "
        "http.text_fields=title,text, http.vector_field=embedding or http.id_field=doc_id.",
    )
    collapse: Collapse | None = setting(
        None, "How chunks become documents, if the backend returns chunks."
    )
    timeout: Number | None = setting(
        None,
        "For --backend http or python: seconds for one request or call, after which it has failed.",
        Option("SECONDS", Panel.BACKENDS, default="30"),
        gt=0,
        le=3600,
    )

    @model_validator(mode="before")
    @classmethod
    def _infer_backend(cls, values: Any) -> Any:
        """Infer the backend if the settings of exactly one backend are given."""
        if not isinstance(values, Mapping) or values.get("backend") is not None:
            return values
        named = [name for name, (_, key) in BACKENDS.items() if values.get(key)]
        return {**values, "backend": named[0]} if named else values

    @model_validator(mode="after")
    def _check_settings(self) -> BackendSettings:
        if self.backend not in BACKENDS:
            raise ValueError(
                f"`backend`: unknown backend '{self.backend}' — use one of {', '.join(BACKENDS)}"
            )
        for name, (_, key) in BACKENDS.items():
            if key and name != self.backend and getattr(self, key):
                raise ValueError(
                    f"`{key}` configures the backend {name}, but `backend` is {self.backend} — "
                    "give the settings of one backend"
                )
        if not self.is_embedded and not self._backend_setting:
            how = "http.url, or --http-url" if self.backend == "http" else "`retriever`"
            raise ValueError(f"`backend` {self.backend} has no settings — give {how}")
        for name in ("timeout", "collapse"):
            if self.is_embedded and getattr(self, name) is not None:
                raise ValueError(
                    f"`{name}` applies to the backends http and python, but the embedded modes "
                    "search documents in this process — leave it out"
                )
        return self

    @property
    def is_embedded(self) -> bool:
        """True if the backend is ``embedded``, which searches documents that the user must give."""
        return self.backend == EMBEDDED

    def make_backend(self) -> Backend:
        """Import the backend and create it with its settings."""
        arguments = () if self.is_embedded else (self._backend_setting, self.timeout)
        backend: Backend = self._backend_class()(*arguments)
        return backend

    def check_backend_modes(self, modes: Sequence[str]) -> None:
        """Check the names of the requested modes.

        Raises:
            UsageError: If there is no mode, or a mode is unknown, repeated or not valid as a file
                name.
        """
        self._backend_class().check_modes(modes, self._backend_setting)

    def _backend_class(self) -> Any:
        module, _, name = BACKENDS[self.backend][0].partition(":")
        return getattr(import_module(f"trectools_plus.retrieval.backends.{module}"), name)

    @property
    def _backend_setting(self) -> Any:
        """The value of the backend's setting."""
        key = BACKENDS[self.backend][1]
        return getattr(self, key) if key else None
