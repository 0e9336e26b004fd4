"""Time per query, as manifests and reports state it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict


class Latency(BaseModel):
    """Time per query in milliseconds, as the retriever took it."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    mean: float
    """Arithmetic mean."""
    p50: float
    """Median."""
    p95: float
    """95th percentile, linearly interpolated."""
    p99: float
    """99th percentile, linearly interpolated."""


def summarise_latency(latency_ms: Sequence[float] | npt.NDArray[np.float64]) -> Latency | None:
    """Return mean and percentiles of milliseconds per query.

    Args:
        latency_ms: One number per query; NaN for a query that was not timed.

    Returns:
        ``None`` where no query was timed.
    """
    timed = np.asarray(latency_ms, dtype=np.float64)
    timed = timed[~np.isnan(timed)]
    if not len(timed):
        return None
    p50, p95, p99 = (float(value) for value in np.percentile(timed, [50, 95, 99]))
    return Latency(mean=float(timed.mean()), p50=p50, p95=p95, p99=p99)
