"""Settings of the service: data, limits and names."""

from __future__ import annotations

import re
from typing import Any, Self

from pydantic import ConfigDict, Field, model_validator

from trectools_plus.choices import MODES
from trectools_plus.errors import UsageError
from trectools_plus.models import Model
from trectools_plus.retrieval.backends.modes import (
    canonical_mode,
    check_modes,
    name_default_modes,
)
from trectools_plus.retrieval.setting_types import Names
from trectools_plus.retrieval.settings import RetrievalSettings

DEFAULT_PREFIX = "trectools_plus"
NO_DATASET = "none"
VALUES_PER_QUERY = 250

_PREFIX = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,63}")


class _Settings(Model):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Limits(_Settings):
    """Limits on requests."""

    body_bytes: int = Field(default=32 << 20, ge=1)
    """Maximum size of the body of a request, in bytes."""
    queries: int = Field(default=2_000, ge=1)
    """Maximum number of queries in a test set, qrels or a run."""
    seconds: float = Field(default=60.0, gt=0)
    """Time limit for the response to a request, and for the arrival of its body, in seconds."""
    workers: int = Field(default=2, ge=1, le=64)
    """Number of requests that are processed at the same time."""
    waiting: int = Field(default=16, ge=0)
    """Maximum number of requests that wait for a worker."""
    memory_bytes: int | None = Field(default=None, ge=256 << 20)
    """Maximum private memory of a worker process, in bytes, where the system can limit it (Linux).
    The default is three quarters of the memory that this process may use."""

    @property
    def values(self) -> int:
        """Maximum number of values and keys in a JSON or YAML document."""
        return self.queries * VALUES_PER_QUERY


class ServiceSettings(_Settings):
    """All settings of the service except host, port and key."""

    dataset: str | None = None
    """The dataset whose documents are searched: ``hpo``, ``sample``, ``irds:…`` or a folder;
    ``none`` for no search. The default is the built-in ``hpo``, except if ``corpus`` is given."""
    corpus: str | None = None
    """A file of documents to search instead of a dataset."""
    test_file: str | None = None
    """The service's own test set, which a request without a body evaluates: a file, or the name of
    a shipped set. The default is the queries and judgments of ``dataset``."""
    modes: Names = MODES
    """Modes of the service; with weights for SPLADE, ``splade`` is one of the default modes."""
    depth: int = Field(default=100, ge=1)
    """Results fetched per query."""
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
    """Settings of the modes."""
    prefix: str = DEFAULT_PREFIX
    """Prefix of the names of metrics."""
    reports: tuple[str, ...] = ()
    """Reports whose figures are included in the metrics; changed reports are read again."""
    limits: Limits = Field(default_factory=Limits)
    """Limits on requests."""

    @model_validator(mode="before")
    @classmethod
    def _name_modes(cls, values: dict[str, Any]) -> dict[str, Any]:
        if "modes" in values:
            return values
        settings = RetrievalSettings.model_validate(values.get("retrieval", {}))
        return {**values, "modes": name_default_modes(settings)}

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_prefix(self.prefix)
        check_modes(self.modes)
        self.retrieval.model_folder()  # refuses several models
        if "splade" in self.modes and self.searches and self.retrieval.splade_model is None:
            raise UsageError(
                "the mode splade needs a model", remedy="name its local folder: --splade-model DIR"
            )
        if self.corpus is not None and self.dataset is not None:
            raise UsageError("--corpus and --dataset cannot be combined", remedy="give one of them")
        if self.test_file is not None and not self.searches:
            raise UsageError(
                "--test-file needs documents to search", remedy="leave out --dataset none"
            )
        return self

    @property
    def canonical_modes(self) -> tuple[str, ...]:
        """The canonical names of the modes, without repetitions."""
        return tuple(dict.fromkeys(map(canonical_mode, self.modes)))

    @property
    def has_terms(self) -> bool:
        """True if the documents are the terms of the HPO."""
        return self.corpus is None and self.dataset in (None, "hpo")

    @property
    def searches(self) -> bool:
        """True if there are documents to search."""
        return self.dataset != NO_DATASET


def check_prefix(prefix: str) -> None:
    """Check the prefix of the names of metrics.

    Raises:
        UsageError: If Prometheus does not allow it.
    """
    if not _PREFIX.fullmatch(prefix):
        raise UsageError(
            f"'{prefix}' is not a valid prefix for the names of metrics",
            where="--prefix",
            remedy="use up to 64 letters, digits and underscores, starting with a letter",
        )
