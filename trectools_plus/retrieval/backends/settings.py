"""Which backend searches, and its settings: keys of ``benchmark.yaml`` and of ``--config``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from trectools_plus.errors import UsageError
from trectools_plus.retrieval.backends.http.settings import HttpSettings
from trectools_plus.retrieval.backends.milvus.settings import MilvusSettings
from trectools_plus.retrieval.fetch.answering import Collapse
from trectools_plus.retrieval.source import Backend
from trectools_plus.text import split_list

EMBEDDED = "embedded"
BACKENDS = (EMBEDDED, "http", "milvus", "python")
_SETTING_OF = {"http": "http", "milvus": "milvus", "retriever": "python"}
"""Each backend's own setting, with the backend's name; only ``milvus`` can do without."""

_NEEDS = {
    "http": "the service's URL — give http.url, or --http-url",
    "python": "`retriever` — give module:name",
}

MODE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
"""What a mode of a backend may be called: its run file and its tag."""


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
        backend: ``embedded``, ``http``, ``milvus`` or ``python``.
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
        names = [name for name in _SETTING_OF if values.get(name)]
        if len(names) > 1:
            shown = " and ".join(f"`{name}`" for name in names)
            raise ValueError(f"{shown} do not go together — give one of them")
        return {**values, "backend": _SETTING_OF[names[0]]} if names else values

    @model_validator(mode="after")
    def _settings_of_the_backend(self) -> BackendSettings:
        if self.backend not in BACKENDS:
            raise ValueError(
                f"`backend`: unknown backend '{self.backend}' — there are {', '.join(BACKENDS)}"
            )
        for name, backend in _SETTING_OF.items():
            if getattr(self, name) and self.backend != backend:
                raise ValueError(
                    f"`{name}` goes with the backend {backend} — leave it out, or set `backend`"
                )
        for name, backend in _SETTING_OF.items():
            if not getattr(self, name) and self.backend == backend != "milvus":
                raise ValueError(f"`backend` {backend} needs {_NEEDS[backend]}")
        if self.collapse is not None and self.is_embedded:
            raise ValueError(
                "`collapse`: the embedded modes find documents, not chunks — leave it out"
            )
        for name in self.retriever:
            _check_mode_name(name)
        return self

    @property
    def is_embedded(self) -> bool:
        """Whether the modes of this package search."""
        return self.backend == EMBEDDED

    @property
    def needs_corpus(self) -> bool:
        """Whether it searches documents that it is given."""
        return self.backend in (EMBEDDED, "milvus")

    @property
    def streams_documents(self) -> bool:
        """Whether it takes documents one by one, so that nobody has to hold them."""
        return self.backend == "milvus"

    def make_backend(self) -> Backend:
        """Return the backend."""
        if self.http is not None:
            from trectools_plus.retrieval.backends.http.source import HttpBackend

            return HttpBackend(self.http)
        if self.retriever:
            from trectools_plus.retrieval.backends.python import PythonBackend

            return PythonBackend(self.retriever)
        if self.backend == "milvus":
            from trectools_plus.retrieval.backends.milvus.backend import MilvusBackend

            return MilvusBackend(self.milvus)
        from trectools_plus.retrieval.backends.embedded.backend import EmbeddedBackend

        return EmbeddedBackend()

    def check_backend_modes(self, modes: Sequence[str]) -> None:
        """See that the modes can be asked for.

        Raises:
            UsageError: If one is unknown, repeated or cannot name a file; or there is none.
        """
        if self.is_embedded:
            from trectools_plus.retrieval.backends.embedded.modes import check_modes

            check_modes(modes)
            return
        if self.backend == "milvus":
            from trectools_plus.retrieval.backends.milvus.settings import check_milvus_modes

            check_milvus_modes(modes)
            return
        if not modes:
            raise UsageError("no mode given", remedy="name one")
        if len(set(modes)) < len(modes):
            raise UsageError(f"a mode is given twice: {', '.join(modes)}", remedy="name each once")
        for mode in modes:
            try:
                _check_mode_name(mode)
            except ValueError as error:
                raise UsageError(str(error)) from error
            if self.retriever and mode not in self.retriever:
                raise UsageError(
                    f"unknown mode '{mode}'", remedy=f"there are {', '.join(self.retriever)}"
                )


def _check_mode_name(name: str) -> None:
    if not MODE_NAME.fullmatch(name):
        raise ValueError(
            f"'{name}' cannot name a run file — use letters, digits, _ . - (at most 64)"
        )
