"""Settings of backends, and installed backends: keys of ``benchmark.yaml`` and of ``--config``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from trectools_plus.retrieval.backends.http.settings import HttpSettings
from trectools_plus.retrieval.backends.milvus.settings import MilvusSettings
from trectools_plus.retrieval.backends.registry import BACKENDS, EMBEDDED, BackendEntry
from trectools_plus.retrieval.fetch.answering import Collapse
from trectools_plus.retrieval.source import Backend, check_mode_name
from trectools_plus.text import split_list

ENTRY_POINT_GROUP = "trectools_plus.backends"
"""Installed packages register subclasses of ``retrieval.source.Backend`` here, by name."""


def find_backend(name: str) -> BackendEntry | None:
    """Return a built-in backend, or one that an installed package registers.

    Raises:
        ValueError: If what is registered is not a backend.
    """
    if name in BACKENDS:
        return BACKENDS[name]
    for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        found = point.load()
        if not (isinstance(found, type) and issubclass(found, Backend)):
            raise ValueError(
                f"`backend`: {point.value} is no backend — register a subclass of "
                "trectools_plus.retrieval.source.Backend"
            )
        return BackendEntry(
            point.value,
            needs_corpus=found.needs_corpus,
            streams_documents=found.streams_documents,
        )
    return None


def name_retrievers(value: Any) -> Any:
    """``module:name``, ``NAME=module:name``, several of them, or a mapping, as a mapping."""
    if isinstance(value, str):
        value = split_list(value)
    if not isinstance(value, list | tuple):
        return value
    named: dict[str, Any] = {}
    for text in value:
        name, equals, reference = str(text).partition("=")
        if not equals:
            name, reference = str(text).rpartition(":")[2].rpartition(".")[2], str(text)
        if name in named:
            raise ValueError(f"two retrievers are named '{name}' — write NAME=module:name")
        named[name] = reference
    return named


Retrievers = Annotated[dict[str, str], BeforeValidator(name_retrievers)]


class BackendSettings(BaseModel):
    """What searches.

    Attributes:
        backend: ``embedded``, ``http``, ``milvus`` or ``python``; or the name of an installed one.
        retriever: For ``python``: ``module:name``, or the name of an installed plug-in, by mode.
        http: For ``http``: the service and its mapping.
        milvus: For ``milvus``: where it is; by default a ``.db`` in the cache folder.
        collapse: How chunks become documents, where the backend answers with chunks.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: str = EMBEDDED
    retriever: Retrievers = Field(default_factory=dict)
    http: HttpSettings | None = None
    milvus: MilvusSettings | None = None
    collapse: Collapse | None = None

    @model_validator(mode="before")
    @classmethod
    def _implied_backend(cls, values: Any) -> Any:
        """Settings of one backend, without its name, name it."""
        if not isinstance(values, Mapping) or values.get("backend") is not None:
            return values
        named = {
            entry.setting: name
            for name, entry in BACKENDS.items()
            if entry.setting and values.get(entry.setting)
        }
        if len(named) > 1:
            shown = " and ".join(f"`{setting}`" for setting in named)
            raise ValueError(f"{shown} do not go together — give one of them")
        return {**values, "backend": next(iter(named.values()))} if named else values

    @model_validator(mode="after")
    def _settings_of_the_backend(self) -> BackendSettings:
        entry = find_backend(self.backend)
        if entry is None:
            raise ValueError(
                f"`backend`: unknown backend '{self.backend}' — there are {', '.join(BACKENDS)}"
            )
        for name, other in BACKENDS.items():
            if other.setting and getattr(self, other.setting) and name != self.backend:
                raise ValueError(
                    f"`{other.setting}` goes with the backend {name} — leave it out, or set "
                    "`backend`"
                )
        if entry.remedy is not None and not self._own_setting:
            raise ValueError(f"`backend` {self.backend} needs {entry.remedy}")
        if self.collapse is not None and not entry.finds_chunks:
            raise ValueError(
                "`collapse`: the embedded modes find documents, not chunks — leave it out"
            )
        for name in self.retriever:
            check_mode_name(name)
        return self

    @property
    def is_embedded(self) -> bool:
        """True if the modes of this package search."""
        return self.backend == EMBEDDED

    @property
    def needs_corpus(self) -> bool:
        """True if it searches documents that it is given."""
        return self._entry.needs_corpus

    @property
    def streams_documents(self) -> bool:
        """True if it takes documents one by one, so that they need not be in memory."""
        return self._entry.streams_documents

    def make_backend(self) -> Backend:
        """Load the backend and hand it its settings."""
        made = self._entry.load()
        backend: Backend = made() if self._entry.setting is None else made(self._own_setting)
        return backend

    def check_backend_modes(self, modes: Sequence[str]) -> None:
        """Check that the modes can be asked for.

        Raises:
            UsageError: If one is unknown, repeated or cannot name a file; or there is none.
        """
        self._entry.load().check_modes(modes, self._own_setting)

    @property
    def _entry(self) -> BackendEntry:
        entry = find_backend(self.backend)
        assert entry is not None
        return entry

    @property
    def _own_setting(self) -> Any:
        """The value of the backend's own setting."""
        name = self._entry.setting
        return None if name is None else getattr(self, name)
