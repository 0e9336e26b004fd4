"""Where the parts of an interval stand on an axis: the geometry of the page's small drawings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10

WIDTH = 120
"""Width of a drawing in its own units; the page scales it."""
_EDGE = 14
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST_STEPS = 6


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis; its label may be empty."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Whisker:
    """A mean with its interval, as places on an axis; ``None`` where the value is undefined."""

    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis from ``low`` to ``high``, both round numbers, in steps of ``step``."""

    low: float
    high: float
    step: float

    def place(self, value: float | None) -> float | None:
        """The place of a value, from 0 to :data:`WIDTH`, to a tenth."""
        if value is None:
            return None
        share = (value - self.low) / (self.high - self.low)
        return round(_EDGE + share * (WIDTH - 2 * _EDGE), 1)

    def whisker(self, mean: float | None, low: float | None, high: float | None) -> Whisker:
        """A mean and the ends of its interval on this axis."""
        return Whisker(self.place(mean), self.place(low), self.place(high))

    @property
    def ticks(self) -> list[Tick]:
        """One tick a step; labelled are the ends, and the middle where there is one."""
        count = round((self.high - self.low) / self.step)
        decimals = next(d for d in range(12) if abs(round(self.step, d) - self.step) < 1e-12)
        labelled = (0, count / 2, count)
        return [
            Tick(
                self.place(value) or 0.0,
                f"{value + 0.0:.{decimals}f}" if place in labelled else "",
            )
            for place in range(count + 1)
            if (value := round(self.low + place * self.step, 12)) is not None
        ]


def make_scale(values: Iterable[float | None], *, around_zero: bool = False) -> Scale:
    """The tightest axis of few round steps that holds all values.

    Args:
        values: What it must hold; ``None`` is left out.
        around_zero: Whether 0 is to be in the middle.
    """
    known = [value for value in values if value is not None]
    if around_zero:
        furthest = max(map(abs, known), default=0.0)
        known = [-furthest, furthest]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if high - low < 1e-9:
        low, high = low - 0.05, high + 0.05
    magnitude = 10.0 ** floor(log10((high - low) / _MOST_STEPS))
    for factor in _STEPS:
        step = factor * magnitude
        first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
        if last - first <= _MOST_STEPS:
            break
    return Scale(first * step, last * step, step)
