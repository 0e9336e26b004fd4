"""What the service is started with: data, limits, and names."""

from __future__ import annotations

import re
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from trectools_plus.benchmark.run.config import DEFAULT_CONFIDENCE, DEFAULT_SEED
from trectools_plus.choices import MODES
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.backends.embedded.modes import check_modes
from trectools_plus.retrieval.settings import RetrievalSettings

DEFAULT_PREFIX = "trectools_plus"
NO_DATASET = "none"
SHORTEST_KEY = 16
"""Characters that a key has at least."""

_PREFIX = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,63}")


class Limits(BaseModel):
    """How much one client may ask for."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    body_bytes: int = Field(default=32 << 20, ge=1)
    """Largest body of a request."""
    queries: int = Field(default=2_000, ge=1)
    """Most queries of a test set, of qrels or of a run."""
    runs: int = Field(default=20, ge=1)
    """Most run files in one request."""
    aliases: int = Field(default=100, ge=0)
    """Most aliases in a YAML document."""
    values_per_query: int = Field(default=250, ge=1)
    """Most values and keys of a JSON or YAML document, for each of the most queries."""
    seconds: float = Field(default=60.0, gt=0)
    """For the answer to one request, and for the arrival of its body."""
    job_seconds: float = Field(default=3_600.0, gt=0)
    """For a job in the background."""
    workers: int = Field(default=2, ge=1, le=64)
    """Requests worked on at the same time."""
    waiting: int = Field(default=16, ge=0)
    """Requests and jobs that may wait for a worker."""
    kept_jobs: int = Field(default=100, ge=1)
    """Finished jobs that are remembered; the oldest are forgotten first."""
    kept_bytes: int = Field(default=256 << 20, ge=0)
    """Most bytes that their results have together; that of the last is kept in any case."""

    @property
    def values(self) -> int:
        """Most values and keys of a JSON or YAML document, with those that aliases repeat."""
        return self.queries * self.values_per_query


class ServiceSettings(BaseModel):
    """Everything but host, port and key."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    dataset: str | None = None
    """Whose documents are searched: ``hpo``, ``irds:…``, a folder; ``none`` for no search. The
    built-in ``hpo`` where neither this nor ``corpus`` is given."""
    corpus: str | None = None
    """A file of documents, instead."""
    modes: tuple[str, ...] = MODES
    """Modes that are made ready."""
    depth: int = Field(default=100, ge=1)
    """Results fetched per query."""
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
    """Settings of the modes."""
    confidence: float = Field(default=DEFAULT_CONFIDENCE, gt=0, lt=1)
    """Level of the intervals."""
    resamples: int = Field(default=10_000, ge=100)
    """Bootstrap resamples."""
    seed: int = Field(default=DEFAULT_SEED, ge=0)
    """Seed of the resamples."""
    prefix: str = DEFAULT_PREFIX
    """What names of metrics begin with."""
    reports: tuple[str, ...] = ()
    """Reports whose figures are metrics; read again when they change."""
    limits: Limits = Field(default_factory=Limits)
    """How much one client may ask for."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_prefix(self.prefix)
        check_modes(self.modes)
        if self.corpus is not None and self.dataset is not None:
            raise UsageError("--corpus and --dataset exclude each other")
        return self

    @property
    def searches(self) -> bool:
        """Whether there are documents to search."""
        return self.dataset != NO_DATASET


def check_prefix(prefix: str) -> None:
    """See that metrics can be named so.

    Raises:
        UsageError: If not.
    """
    if not _PREFIX.fullmatch(prefix):
        raise UsageError(
            f"'{prefix}' cannot begin the name of a metric",
            where="--prefix",
            remedy="use letters, digits and _, a letter first",
        )
