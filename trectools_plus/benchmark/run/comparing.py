"""Systems and settings of a comparison: a part of the configuration of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from trectools_plus.statistics.arrays import (
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    IntervalOptions,
)
from trectools_plus.statistics.method import DEFAULT_CORRECTION, DEFAULT_TEST, TEST_ALIASES

if TYPE_CHECKING:  # reading a configuration computes nothing
    from trectools_plus.statistics.scores import Method


def resampling_of(config: Mapping[str, Any]) -> IntervalOptions:
    """Return the settings of intervals and tests of a manifest's configuration, with defaults."""
    return {
        "interval": str(config.get("interval", "auto")),
        "confidence": float(config.get("confidence", DEFAULT_CONFIDENCE)),
        "resamples": int(config.get("resamples", DEFAULT_RESAMPLES)),
        "seed": int(config.get("seed", DEFAULT_SEED)),
    }


@dataclass(frozen=True, slots=True)
class Comparing:
    """The systems and the settings of a comparison.

    Attributes:
        baseline: The systems that every other one is compared with; empty to compare every pair.
        test: A name of ``PAIRED_TESTS``.
        correction: ``holm``, ``bh`` or ``none``.
        options: The settings of intervals and tests.
    """

    baseline: Sequence[str] = ()
    test: str = DEFAULT_TEST
    correction: str = DEFAULT_CORRECTION
    options: IntervalOptions = field(default_factory=IntervalOptions)

    @classmethod
    def of(cls, settings: Mapping[str, Any], baseline: Sequence[str]) -> Self:
        """Return the value of settings by name, of which others are ignored."""
        test = settings.get("test", DEFAULT_TEST)
        correction = settings.get("correction", DEFAULT_CORRECTION)
        return cls(baseline, TEST_ALIASES.get(test, test), correction, resampling_of(settings))

    def by(self, family: str) -> Method:
        """Return the method of the comparisons of a family."""
        from trectools_plus.statistics.scores import Method

        return Method(self.options, self.test, self.correction, family)
