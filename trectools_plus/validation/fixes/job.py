"""One fixing job: what is asked, and the log of what was done and what was not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from trectools_plus.errors import UsageError
from trectools_plus.validation.fixes.arguments import FixOptions
from trectools_plus.validation.fixes.offers import OFFERS
from trectools_plus.validation.fixes.summary import Applied
from trectools_plus.validation.qrels_view import QrelsView
from trectools_plus.validation.run_view import RunView


@dataclass(slots=True)
class Job:
    """What the steps of a fix share.

    Attributes:
        kind: ``run``, ``qrels`` or ``topics``.
        asked: Codes of rules whose fix was asked for by name.
        options: The choices of the user.
        max_depth: Results allowed per query; ``None`` for no limit.
        other: The other file, for ids that should meet.
        applied: What was done, in order.
        notes: What was not done, and why.
    """

    kind: str
    asked: frozenset[str]
    options: FixOptions
    max_depth: int | None = None
    other: RunView | QrelsView | None = None
    applied: list[Applied] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        kind: str,
        codes: Sequence[str],
        options: FixOptions,
        max_depth: int | None = None,
        other: RunView | QrelsView | None = None,
    ) -> Job:
        """A job, once every code is known to have a fix for this kind of file.

        Raises:
            UsageError: If a code has none.
        """
        for code in codes:
            offer = OFFERS.get(code)
            if offer is None or kind not in offer.kinds:
                known = ", ".join(c for c, o in OFFERS.items() if kind in o.kinds)
                raise UsageError(
                    f"there is no fix {code} for {kind}",
                    where="--fix",
                    remedy=f"fixes: {known}",
                )
        return cls(kind, frozenset(codes), options, max_depth, other)

    def wants(self, code: str) -> bool:
        """Whether a fix is to be applied where its rule is broken."""
        return OFFERS[code].safe or code in self.asked

    def done(self, code: str, count: int, what: str | None = None) -> None:
        """Note that a fix was applied in ``count`` places."""
        offer = OFFERS[code]
        self.applied.append(Applied(code, offer.name, count, what or offer.what))

    def skip(self, code: str, why: str) -> None:
        """Note why a fix was not applied, if it would have been."""
        if self.wants(code):
            self.notes.append(f"{code} not fixed: {why}")
