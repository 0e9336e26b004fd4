"""Numbers of results per query that rules use."""

from __future__ import annotations

DEFAULT_MAX_DEPTH = 100
"""Default limit of results per query."""

TREC_MAX_DEPTH = 1000
"""Limit of results per query in the profile ``trec``."""

JUDGED_CUTOFF = 10
"""The number of first results of a query among which the share of judged ones is counted."""

MIN_JUDGED = 0.2
"""Minimum share of judged documents in the first ``JUDGED_CUTOFF``; scores with fewer are
unreliable."""
