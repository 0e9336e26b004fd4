"""Benchmarks and earlier reports: every figure, key, code, exit code and file is the frozen one."""

from __future__ import annotations

import re

import pytest
from harness.cases import BENCHMARKS, CASES, REPORTS
from harness.documented import DOCUMENTED
from harness.golden import FROZEN, GOLDEN

pytestmark = pytest.mark.process

MODES = ("lexical", "vector", "hybrid")
Ranking = dict[str, list[tuple[str, float]]]


def as_parameter(name, *values):
    """Return the parameter of a test with a case; it is slow if the case is."""
    reason = CASES[name].slow
    return pytest.param(*values, id=name, marks=[pytest.mark.slow(reason)] if reason else [])


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "case", [as_parameter(one.name, one) for one in (*BENCHMARKS, *REPORTS, *DOCUMENTED)]
)
def test_figures_codes_and_files(case, observed, compare):
    document, _ = observed(case.name)
    compare(case.name, document, loose=case.fresh)


STORED = sorted([*GOLDEN.rglob("*.json"), *FROZEN.rglob("*.json")])


@pytest.mark.parametrize("name", [case.name for case in CASES.values() if case.private])
def test_no_text_of_a_collection_is_stored(name):
    lines = [
        line
        for path in STORED
        if path.stem == name
        for line in path.read_text("utf-8").splitlines()
    ]
    texts = [line for line in lines if re.search(r'"(text|title|description)":', line)]
    assert all(re.search(r'":("…"|null|\["String")', line) for line in texts)
