"""A benchmark that compares one vector per document with one vector per part of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trectools_plus.benchmark.run.config_file import ConfigOptions
from trectools_plus.choices import STRATEGIES
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.setting_types import split_models

SINGLE = "vector"
SINGLE_LABEL = "Single-Vector"


def compare_vectors_options(
    options: ConfigOptions, strategies: Sequence[str] | None = None, *, single: bool = True
) -> ConfigOptions:
    """Return the settings of a benchmark whose modes are different kinds of vector search.

    Args:
        options: Further settings, for example ``dataset``; see
            :class:`trectools_plus.benchmark.run.config.BenchmarkConfig`.
        strategies: Aggregation strategies of a multi-vector index; all if ``None``.
        single: Include the search with one vector per document and compare every strategy with it;
            otherwise compare every pair of strategies.

    Returns:
        Settings for :func:`trectools_plus.benchmark.run.config_file.load_config`.

    Raises:
        UsageError: If a strategy is unknown or named twice, there is nothing to compare, or the
            settings include ``multi_vector`` or several embedding models.
    """
    chosen = STRATEGIES if strategies is None else tuple(strategies)
    unknown = [name for name in chosen if name not in STRATEGIES]
    if unknown:
        raise UsageError(
            f"unknown strategy '{unknown[0]}'",
            where="--strategies",
            remedy=f"use one of {', '.join(STRATEGIES)}",
        )
    if len(set(chosen)) < len(chosen):
        raise UsageError(
            f"a strategy is given twice: {', '.join(chosen)}",
            where="--strategies",
            remedy="give each strategy once",
        )
    if "multi_vector" in (options.get("retrieval") or {}):
        raise UsageError(
            "cannot be set here: the strategies set it for each mode",
            where="multi_vector",
            remedy="leave it out",
        )
    if isinstance(split_models((options.get("retrieval") or {}).get("embedding_model")), Mapping):
        raise UsageError(
            "compares kinds of search with one embedding model",
            where="compare-vectors",
            remedy=f"use benchmark run --modes {','.join((SINGLE, *chosen))} with several models",
        )
    modes = (SINGLE, *chosen) if single else chosen
    if len(modes) < 2:
        raise UsageError(
            "there is nothing to compare",
            where="--strategies",
            remedy="give at least one strategy, or two with --no-single",
        )
    single_vector = {**(options.get("retrieval") or {}), "multi_vector": False}
    settings: ConfigOptions = {**options, "modes": modes, "retrieval": single_vector}
    if single:
        settings = {**settings, "baseline": (SINGLE,), "mode_names": {SINGLE: SINGLE_LABEL}}
    return settings
