"""When a request is sent again: exponential backoff with jitter, and what the service asks for."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Event, Lock
from time import monotonic

RETRIED_STATUS = frozenset({429, *range(500, 600)})
"""Too many requests, and the service's own faults; any other 4xx is ours, and final."""


def backoff_delay(first: float, attempt: int, longest: float, seed: str) -> float:
    """Seconds to wait after an attempt: doubled each time, a random half of it taken off at most.

    Args:
        first: After the first attempt.
        attempt: Which one failed, from 1.
        longest: No wait is longer.
        seed: The same text gives the same delay.
    """
    full = min(first * 2.0 ** (attempt - 1), longest)
    return full * (0.5 + 0.5 * random.Random(seed).random())


def read_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a ``Retry-After`` header asks to wait; ``None`` where it says nothing usable.

    Args:
        value: Whole seconds, or an HTTP date (RFC 9110, 10.2.3).
        now: The time, for dates: that of the response, whose clock may differ from this one's;
            ``None`` takes the local time.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    moment = read_http_date(text)
    if moment is None:
        return None
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def read_http_date(text: str | None) -> datetime | None:
    """The time in a header, with its zone; ``None`` where there is none."""
    try:
        moment = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


class Pace:
    """One service's wish to be left alone for a while, heeded by all threads that ask it.

    Args:
        clock: Seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._not_before = clock()
        self._lock = Lock()
        self._ended = Event()

    @property
    def ended(self) -> bool:
        """Whether nobody should ask any more."""
        return self._ended.is_set()

    def hold(self, seconds: float) -> None:
        """Nobody asks for so long."""
        with self._lock:
            self._not_before = max(self._not_before, self._clock() + seconds)

    def wait(self, seconds: float = 0.0) -> None:
        """Wait so long, and then until anybody may ask again; returns at once when it ended."""
        until = self._clock() + seconds
        while True:
            with self._lock:
                left = max(until, self._not_before) - self._clock()
            if left <= 0 or self._ended.wait(left):
                return

    def end(self) -> None:
        """Wake whoever waits."""
        self._ended.set()
