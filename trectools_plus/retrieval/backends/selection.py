"""Settings of backends (keys of ``benchmark.yaml`` and ``--config``), and installed backends."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, model_validator

from trectools_plus.choices import Panel
from trectools_plus.models import Model
from trectools_plus.plugins import is_code_refused
from trectools_plus.retrieval.backends.http.engines import ENGINES, resolve_preset
from trectools_plus.retrieval.backends.http.mapping import HttpSettings
from trectools_plus.retrieval.backends.registry import (
    BACKENDS,
    EMBEDDED,
    BackendEntry,
    list_backends,
)
from trectools_plus.retrieval.fetch.answering import Collapse
from trectools_plus.retrieval.setting_types import Number, Option, setting
from trectools_plus.retrieval.source import Backend, check_mode_name
from trectools_plus.text import split_list

ENTRY_POINT_GROUP = "trectools_plus.backends"
"""Installed packages register subclasses of ``retrieval.source.Backend`` in this group."""


def find_backend(name: str) -> BackendEntry | None:
    """Return a built-in backend, or one that an installed package registers; ``None`` if unknown.

    Raises:
        ValueError: If the registered object is not a backend.
    """
    if name in BACKENDS:
        return BACKENDS[name]
    if is_code_refused():  # the settings of a report, which nobody searches with
        return BackendEntry("trectools_plus.retrieval.source:Backend")
    for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        found = point.load()
        if not (isinstance(found, type) and issubclass(found, Backend)):
            raise ValueError(
                f"`backend`: {point.value} is not a backend — register a subclass of "
                "trectools_plus.retrieval.source.Backend"
            )
        return BackendEntry(
            point.value,
            needs_corpus=found.needs_corpus,
            streams_documents=found.streams_documents,
        )
    return None


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
    retrievers: dict[str, Any] = {}
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
            the engine for which the settings are complete.
    """
    if retriever:
        return list(name_retrievers(retriever))
    if isinstance(http, HttpSettings):
        http = {name: getattr(http, name) for name in http.model_fields_set}
    if not isinstance(http, Mapping):
        return []
    if isinstance(http.get("modes"), Mapping) and http["modes"]:
        return list(http["modes"])
    engine = str(http.get("engine"))
    if engine not in ENGINES or not http.get("url"):
        return []
    complete = []
    for mode in ENGINES[engine].modes:
        with contextlib.suppress(ValueError):
            resolve_preset(engine, mode, http)
            complete.append(mode)
    return complete or list(ENGINES[engine].modes)


Retrievers = Annotated[dict[str, str], BeforeValidator(name_retrievers)]


class BackendSettings(Model):
    """The backend and its settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: str = setting(
        EMBEDDED,
        f"Search backend: {list_backends()}; or the name of an installed backend.",
        Option("NAME", Panel.BACKENDS, help=f"Search backend: {list_backends()}."),
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
        named = {
            entry.setting: name
            for name, entry in BACKENDS.items()
            if entry.setting and values.get(entry.setting)
        }
        if len(named) > 1:
            shown = " and ".join(f"`{setting}`" for setting in named)
            raise ValueError(f"{shown} configure different backends — give one of them")
        return {**values, "backend": next(iter(named.values()))} if named else values

    @model_validator(mode="after")
    def _check_settings(self) -> BackendSettings:
        entry = find_backend(self.backend)
        if entry is None:
            raise ValueError(
                f"`backend`: unknown backend '{self.backend}' — use one of {', '.join(BACKENDS)}"
            )
        for name, other in BACKENDS.items():
            if other.setting and getattr(self, other.setting) and name != self.backend:
                raise ValueError(
                    f"`{other.setting}` configures the backend {name}, but `backend` is "
                    f"{self.backend} — omit one of them"
                )
        if entry.requirement is not None and not self._backend_setting:
            raise ValueError(f"`backend` {self.backend} requires {entry.requirement}")
        if self.timeout is not None and not entry.has_timeout:
            timed = " and ".join(name for name, one in BACKENDS.items() if one.has_timeout)
            raise ValueError(
                f"`timeout` applies to the backends {timed}, but `backend` is {self.backend} — "
                "leave it out"
            )
        if self.collapse is not None and not entry.finds_chunks:
            raise ValueError("`collapse`: the embedded modes find documents, not chunks — omit it")
        for name in self.retriever:
            check_mode_name(name)
        return self

    @property
    def is_embedded(self) -> bool:
        """True if the backend is ``embedded``."""
        return self.backend == EMBEDDED

    @property
    def needs_corpus(self) -> bool:
        """True if the backend searches documents that the user must give."""
        return self._entry.needs_corpus

    @property
    def streams_documents(self) -> bool:
        """True if the backend reads documents one by one instead of in memory."""
        return self._entry.streams_documents

    def make_backend(self) -> Backend:
        """Import the backend and create it with its settings."""
        create, setting = self._entry.load(), self._entry.setting
        timeout = {"timeout": self.timeout} if self._entry.has_timeout else {}
        backend: Backend = create() if setting is None else create(self._backend_setting, **timeout)
        return backend

    def check_backend_modes(self, modes: Sequence[str]) -> None:
        """Check the names of the requested modes.

        Raises:
            UsageError: If there is no mode, or a mode is unknown, repeated or not valid as a file
                name.
        """
        self._entry.load().check_modes(modes, self._backend_setting)

    @property
    def _entry(self) -> BackendEntry:
        entry = find_backend(self.backend)
        assert entry is not None
        return entry

    @property
    def _backend_setting(self) -> Any:
        """The value of the backend's setting."""
        name = self._entry.setting
        return None if name is None else getattr(self, name)
