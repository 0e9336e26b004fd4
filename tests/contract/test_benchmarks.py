"""Benchmarks and earlier reports: every figure, key, code, exit code and file is the frozen one."""

from __future__ import annotations

import re

import pytest
from harness.cases import CASES, GROUPS
from harness.golden import FROZEN, GOLDEN

pytestmark = pytest.mark.process


LISTED = [case for group in ("benchmarks", "reports", "documented") for case in GROUPS[group]]


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[pytest.mark.slow(case.slow)] if case.slow else [])
        for case in LISTED
    ],
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
