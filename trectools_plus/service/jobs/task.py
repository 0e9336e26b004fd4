"""The description of a piece of work: plain values, so that it can be stored and sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from trectools_plus.service.api.snapshots import Snapshot
    from trectools_plus.service.api.uploads import Part

Kind = Literal["evaluate", "validate", "score"]


@dataclass(frozen=True, slots=True)
class Task:
    """One request for work.

    Attributes:
        kind: The kind of work.
        parameters: The parameters of the request, as JSON values.
        parts: The uploads.
    """

    kind: Kind
    parameters: dict[str, Any]
    parts: tuple[Part, ...] = ()

    @property
    def needs_documents(self) -> bool:
        """True if the work searches the documents of the service."""
        return self.kind == "evaluate"

    @property
    def is_own(self) -> bool:
        """True if it evaluates the service's own test set."""
        return self.kind == "evaluate" and not self.parts


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a task.

    Attributes:
        answer: The body of the response, as JSON.
        snapshot: The figures of an evaluation, otherwise ``None``.
    """

    answer: bytes
    snapshot: Snapshot | None = None


class StoppedError(Exception):
    """The work was cancelled, or exceeded its time limit."""
