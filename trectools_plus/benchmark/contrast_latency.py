"""The latencies of a mode in two reports, compared query by query."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass
