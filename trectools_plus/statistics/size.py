"""What a number of queries is good for."""

from __future__ import annotations

from dataclasses import dataclass

from trectools_plus.errors import UsageError


@dataclass(frozen=True, slots=True)
class SizeAdvice:
    """What a set of queries is good for.

    Attributes:
        queries: How many there are.
        use: ``too_small``, ``sanity_check``, ``development``, ``standard`` or ``comprehensive``.
        warning: A sentence where figures should not be published on that many; else ``None``.
    """

    queries: int
    use: str
    warning: str | None


STANDARD = 200

_USES = (
    (500, "comprehensive", None),
    (STANDARD, "standard", None),
    (50, "development", "is enough to develop with but not to publish"),
    (9, "sanity_check", "is a sanity check: only very large differences show"),
    (0, "too_small", "is too few to say anything in general"),
)


def advise_on_size(queries: int) -> SizeAdvice:
    """Say what a number of queries is good for.

    9 make a sanity check, 50 serve development, 200 are the standard and the least for
    publication, 500 and more are comprehensive. These are rules of thumb;
    :func:`~trectools_plus.statistics.power.queries_needed` computes the number for a difference.

    Args:
        queries: How many queries the means are taken over; at least 0.

    Returns:
        The use, with a warning below 200.

    Raises:
        UsageError: If the number is negative.
    """
    if queries < 0:
        raise UsageError(f"expected a number of queries but got {queries}", where="size")
    use, warning = next((use, text) for least, use, text in _USES if queries >= least)
    noun = "query" if queries == 1 else "queries"
    sentence = warning and f"a set of {queries} {noun} {warning}; {STANDARD} are the standard"
    return SizeAdvice(queries, use, sentence)
