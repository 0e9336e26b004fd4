"""Waiting: exponential, jittered, seeded; what Retry-After says; one throttle for all threads."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.retrieval.backends.http.client import (
    RETRIED_STATUS,
    Throttle,
    backoff_delay,
    read_retry_after,
)

NOON = datetime(2025, 1, 31, 12, tzinfo=UTC)


@given(attempt=st.integers(1, 20), first=st.floats(0, 10), seed=st.text())
def test_delays_double_and_lose_at_most_a_half(attempt: int, first: float, seed: str) -> None:
    delay = backoff_delay(first, attempt, 60, seed)
    full = min(first * 2 ** (attempt - 1), 60)
    assert full / 2 <= delay <= full
    assert delay == backoff_delay(first, attempt, 60, seed)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        (" 7 ", 7),
        ("Fri, 31 Jan 2025 12:01:30 GMT", 90),
        ("Friday, 31-Jan-25 12:01:30 GMT", 90),
        ("Fri, 31 Jan 2025 13:01:30 +0100", 90),
        ("Fri, 31 Jan 2025 11:00:00 GMT", 0),
        ("soon", None),
        ("-3", None),
        ("1.5", None),
        ("", None),
        (None, None),
        ("²", None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert read_retry_after(value, NOON) == seconds


def test_which_answers_are_worth_another_attempt() -> None:
    assert {408, 425, 429, 500, 502, 503, 504} == RETRIED_STATUS


def test_all_threads_wait_after_retry_after() -> None:
    now = [0.0]
    throttle = Throttle(lambda: now[0])
    throttle.wait()  # at once
    throttle.pause(5)
    throttle.pause(2)  # never earlier
    done = threading.Event()
    thread = threading.Thread(target=lambda: (throttle.wait(), done.set()))
    now[0] = 5.0
    thread.start()
    assert done.wait(10)
    thread.join()


def test_the_end_wakes_waiting_threads() -> None:
    throttle = Throttle()
    throttle.pause(3600)
    thread = threading.Thread(target=throttle.wait)
    thread.start()
    throttle.close()
    thread.join(10)
    assert not thread.is_alive()
    assert throttle.closed
