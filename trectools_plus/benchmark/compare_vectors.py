"""One vector for each document against one for each part of it, as a benchmark."""

from __future__ import annotations

from collections.abc import Sequence

from trectools_plus.benchmark.run.config_file import ConfigOptions
from trectools_plus.choices import STRATEGIES
from trectools_plus.errors import UsageError

SINGLE = "vector"
SINGLE_LABEL = "Single-Vector"


def compare_vectors_options(
    options: ConfigOptions, strategies: Sequence[str] | None = None, *, single: bool = True
) -> ConfigOptions:
    """The settings of a benchmark whose modes are the ways to score by vectors.

    Args:
        options: Further settings, such as ``dataset``; see
            :class:`trectools_plus.benchmark.run.config.BenchmarkConfig`.
        strategies: Aggregation strategies of a multi-vector index; all if ``None``.
        single: Whether the search with one vector for each document takes part; then every
            strategy is compared with it, else every pair with each other.

    Returns:
        Settings for :func:`trectools_plus.benchmark.run.config_file.load_config`.

    Raises:
        UsageError: If a strategy is unknown or named twice, there is nothing to compare, or the
            settings say ``multi_vector``.
    """
    chosen = STRATEGIES if strategies is None else tuple(strategies)
    unknown = [name for name in chosen if name not in STRATEGIES]
    if unknown:
        raise UsageError(
            f"unknown strategy '{unknown[0]}'",
            where="--strategies",
            remedy=f"there are {', '.join(STRATEGIES)}",
        )
    if len(set(chosen)) < len(chosen):
        raise UsageError(
            f"a strategy is given twice: {', '.join(chosen)}",
            where="--strategies",
            remedy="name each once",
        )
    if "multi_vector" in (options.get("retrieval") or {}):
        raise UsageError(
            "the modes compared say which vectors they have",
            where="multi_vector",
            remedy="leave it out",
        )
    modes = (SINGLE, *chosen) if single else chosen
    if len(modes) < 2:
        raise UsageError(
            "there is nothing to compare",
            where="--strategies",
            remedy="name at least one strategy, and two with --no-single",
        )
    settings: ConfigOptions = {**options, "modes": modes}
    if single:
        settings = {**settings, "baseline": (SINGLE,), "mode_names": {SINGLE: SINGLE_LABEL}}
    return settings
