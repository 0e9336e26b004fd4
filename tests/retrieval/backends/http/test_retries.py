"""Waiting: exponential, jittered, seeded; what Retry-After says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.retrieval.backends.http.client import (
    RETRIED_STATUS,
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
