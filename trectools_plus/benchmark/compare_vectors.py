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
    modes, retrieval = (SINGLE, *chosen) if single else chosen, options.get("retrieval") or {}
    unknown = [name for name in chosen if name not in STRATEGIES]
    has_models = isinstance(split_models(retrieval.get("embedding_model")), Mapping)
    problems = (
        (
            bool(unknown),
            f"unknown strategy '{''.join(unknown[:1])}'",
            "--strategies",
            f"use one of {', '.join(STRATEGIES)}",
        ),
        (
            len(set(chosen)) < len(chosen),
            f"a strategy is given twice: {', '.join(chosen)}",
            "--strategies",
            "give each strategy once",
        ),
        (
            "multi_vector" in retrieval,
            "cannot be set here: the strategies set it for each mode",
            "multi_vector",
            "leave it out",
        ),
        (
            has_models,
            "compares kinds of search with one embedding model",
            "compare-vectors",
            f"use benchmark run --modes {','.join((SINGLE, *chosen))} with several models",
        ),
        (
            len(modes) < 2,
            "there is nothing to compare",
            "--strategies",
            "give at least one strategy, or two with --no-single",
        ),
    )
    for is_wrong, what, where, remedy in problems:
        if is_wrong:
            raise UsageError(what, where=where, remedy=remedy)
    single_vector = {**retrieval, "multi_vector": False}
    settings: ConfigOptions = {**options, "modes": modes, "retrieval": single_vector}
    if single:
        settings = {**settings, "baseline": (SINGLE,), "mode_names": {SINGLE: SINGLE_LABEL}}
    return settings
