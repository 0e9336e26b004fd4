"""A small plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.plans import make_small

from trectools_plus.judging.plan import PlanFolder


@pytest.fixture
def plan(tmp_path: Path) -> PlanFolder:
    """A plan of 12 queries and the runs a and b, with depth 4."""
    return make_small(tmp_path)
