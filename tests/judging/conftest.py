"""A small plan."""

import pytest
from harness.plans import make_small


@pytest.fixture
def plan(tmp_path):
    """A plan of 12 queries and the runs a and b, with depth 4."""
    return make_small(tmp_path)
