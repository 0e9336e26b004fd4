"""Limits of results per query."""

from __future__ import annotations

DEFAULT_MAX_DEPTH = 100
"""Default limit of results per query."""

TREC_MAX_DEPTH = 1000
"""Limit of results per query in the profile ``trec``."""
