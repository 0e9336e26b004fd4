from __future__ import annotations

from trectools_plus.reporting.benchmark import list_notes
from trectools_plus.reporting.comparison import describe_dataset


def test_equal_notes_are_shown_once(make_report):
    means = {f"run{n}": {"RR@10": n / 100} for n in range(12)}
    report = make_report(means, diagnostics={"status": "incomplete", "notes": ["too few", "x"]})
    assert list_notes(report) == ["12 modes (incomplete): too few; x."]


def test_a_complete_mode_may_have_a_note(make_report):
    report = make_report({"lexical": {"RR@10": 0.1}}, diagnostics={"notes": ["few results"]})
    assert list_notes(report) == ["Lexical-Only: few results."]


def test_one_query_is_no_plural(make_report):
    report = make_report()
    one = report.manifest.dataset.model_copy(update={"queries": 1, "documents": 1})
    report = report.model_copy(
        update={"manifest": report.manifest.model_copy(update={"dataset": one})}
    )
    assert describe_dataset(report) == "irds:cranfield · 1 query"
