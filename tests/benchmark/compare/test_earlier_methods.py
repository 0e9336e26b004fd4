"""Reports made with a method of an earlier version are read, and compared with today's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.benchmark import compare_reports, load_report, run_gate
from trectools_plus.errors import InputError
from trectools_plus.reporting.verification.verify import verify_report


def earlier(folder: Path) -> Path:
    """Return a copy of a report as version 0.2 wrote it, by max-t."""
    copy = folder.with_name(f"{folder.name}-earlier")
    shutil.copytree(folder, copy)
    path = copy / "BenchmarkReport.json"
    document = json.loads(path.read_text("utf-8"))
    document["manifest"]["config"] |= {"correction": "max_t", "rope": 0.01}
    del document["manifest"]["config"]["test"]
    for entry in document["comparisons"]:
        entry |= {"test": "max_t", "correction": "max_t", "borderline": True}
        entry |= {"sign_test": {"p": 0.5}, "paired_bootstrap": {"p": 0.25}, "significant": False}
        entry.pop("t_test", None)
    path.write_text(json.dumps(document), "utf-8")
    return copy


def test_a_report_by_max_t_is_read_and_compared_by_the_t_test(bench: Any) -> None:
    after = bench.make("after", {"x": dict.fromkeys(range(20), 0), "y": {}})
    before = earlier(bench.make("before", {"x": {}, "y": {3: 0}}))
    report = load_report(before / "BenchmarkReport.json")
    assert {entry.p for entry in report.comparisons} == {0.25}
    assert not any(entry.significant for entry in report.comparisons)
    for first, second in ((before, after), (after, before)):
        entry = compare_reports(first, second).modes[0].comparisons[0]
        assert (entry.test, entry.correction, entry.significant) == ("t_test", "holm", True)
        assert entry.p == entry.t_test.p  # type: ignore[union-attr]
    result = run_gate(after, before)
    assert not result.passed
    assert [one.comparison.significant for one in result.entries] == [True, False]


def test_a_report_by_max_t_is_not_verified(bench: Any) -> None:
    with pytest.raises(InputError, match="configuration cannot be used"):
        verify_report(earlier(bench.make("before", {"x": {}, "y": {3: 0}})))
