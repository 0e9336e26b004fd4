"""Work spread over the workers of a Dask scheduler, or done here: the same results either way."""

from __future__ import annotations

from trectools_plus.distributed.mapping import current_workers as current_workers
from trectools_plus.distributed.mapping import use_scheduler as use_scheduler

__all__ = ["current_workers", "use_scheduler"]
