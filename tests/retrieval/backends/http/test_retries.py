"""Waiting: exponential, jittered, seeded; what Retry-After says; one throttle for all threads."""

from __future__ import annotations

import threading
from time import monotonic

from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.retrieval.backends.http.client import (
    RETRIED_STATUS,
    Throttle,
    backoff_delay,
)


@given(attempt=st.integers(1, 20), first=st.floats(0, 10), seed=st.text())
def test_delays_double_and_lose_at_most_a_half(attempt: int, first: float, seed: str) -> None:
    delay = backoff_delay(first, attempt, 60, seed)
    full = min(first * 2 ** (attempt - 1), 60)
    assert full / 2 <= delay <= full
    assert delay == backoff_delay(first, attempt, 60, seed)


def test_which_answers_are_worth_another_attempt() -> None:
    assert {408, 425, 429, 500, 502, 503, 504} == RETRIED_STATUS


def test_a_pause_delays_every_thread() -> None:
    throttle = Throttle()
    throttle.wait()  # at once
    throttle.pause(0.3)
    throttle.pause(0.1)  # never earlier
    started = monotonic()
    throttle.wait()
    assert monotonic() - started >= 0.25


def test_the_end_wakes_waiting_threads() -> None:
    throttle = Throttle()
    throttle.pause(3600)
    thread = threading.Thread(target=throttle.wait)
    thread.start()
    throttle.close()
    thread.join(10)
    assert not thread.is_alive()
    assert throttle.closed
