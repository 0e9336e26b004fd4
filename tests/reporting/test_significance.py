"""Texts about tests, groups, sizes and denominators."""

import io

from trectools_plus.benchmark import BenchmarkReport
from trectools_plus.benchmark.verdict import add_result
from trectools_plus.reporting import print_report, render_html, render_markdown, table_as_text
from trectools_plus.reporting.comparison import best_modes, better_than, headline_table, method_line
from trectools_plus.reporting.document import show_p


def console(report):
    stream = io.StringIO()
    print_report(report, stream, full=True)
    return " ".join(stream.getvalue().split())


def by(make_report, test, correction, **fields):
    """The report by another method."""
    changes = {"test": test, "correction": correction, **fields}
    changed = [one.model_copy(update=changes) for one in make_report().comparisons]
    return make_report(comparisons=changed)


RULES = (
    "225 queries; those without results count 0, those without a relevant document are left out."
)


def test_one_line_names_the_method_under_every_verdict_and_table(make_report):
    family = "3 comparisons on one measure: every pair of 3 modes"
    cases = [
        (make_report(), f"Paired t-test, Holm over {family}, p ≤ 0.05; {RULES}"),
        (
            by(make_report, "randomisation", "bh"),
            f"Randomisation test, Benjamini-Hochberg over {family}, p ≤ 0.05; {RULES}",
        ),
        (
            by(make_report, "t_test", "holm", family="1 comparison with a on one measure"),
            f"Paired t-test, 1 comparison with a on one measure, p ≤ 0.05; {RULES}",
        ),
    ]
    for report, line in cases:
        assert method_line(report) == line
        shown = [console(report), render_markdown(report), render_html(report)]
        latex = table_as_text(report, "latex").replace(r"\(\leq\)", "≤")
        shown += [table_as_text(report, "markdown"), latex]
        for text in shown:
            assert line in text
    assert method_line(make_report(comparisons=[])) == ""


def test_the_line_names_how_queries_count(make_report):
    report = make_report()
    manifest = report.manifest
    for settings, end in (
        ({"missing": "drop"}, "those without results or without a relevant document are left out."),
        (
            {"missing": "drop", "no_relevant": "zero"},
            "those without results are left out, those without a relevant document count 0.",
        ),
        ({"no_relevant": "zero"}, "those without results or without a relevant document count 0."),
    ):
        changed = manifest.model_copy(update={"config": {**manifest.config, **settings}})
        assert method_line(report.model_copy(update={"manifest": changed})).endswith(end)


def test_only_an_interval_that_belongs_to_the_decision_has_no_label(make_report):
    report = make_report()
    assert "unadjusted" not in console(report) + render_markdown(report) + render_html(report)
    rate = by(make_report, "t_test", "bh")
    assert "over Lexical-Only [−0.001, +0.039, unadjusted]; not" in rate.verdict.text
    assert "Unadjusted interval" in render_markdown(rate)
    assert "Unadjusted interval" in render_html(rate)


def test_the_legend_explains_the_marks_of_best_modes(make_report):
    ahead = "significantly ahead of every other mode"
    assert f"*: {ahead}; n.s.: not." in console(make_report())


def test_eight_modes_have_marks(make_report):
    report = make_report({f"r{n}": {"RR@10": n / 10} for n in range(8)}, groups={})
    row = headline_table(report, ["RR@10"]).rows[7]
    assert (row.cells[0].text, row.cells[1].marks) == ("r7", "ᵃᵇᶜᵈᵉᶠᵍ")


def test_groups_are_named_for_each_headline_measure(make_report):
    names = [f"r{n}" for n in range(9)]
    groups = {"RR@10": [names[:8], names[8:]], "nDCG@10": [names]}
    means = {name: {"nDCG@10": 0.1, "RR@10": 0.1} for name in names}
    report = make_report(means, groups=groups)
    for text in (console(report), render_markdown(report)):
        assert "- nDCG@10: 9 modes" in text
        assert "- RR@10: r0, r1, r2, r3, r4, r5, r6 and r7" in text
    apart = [["hybrid"], ["lexical"], ["vector"]]
    assert "- nDCG@10: " not in console(make_report(groups={"nDCG@10": apart}))


def test_p_values_are_never_0():
    assert [show_p(p) for p in (None, 1e-9, 0.0001, 0.05, 1)] == [
        "–",
        "<0.0001",
        "0.0001",
        "0.0500",
        "1.0000",
    ]


def over_different_queries(make_report):
    """A run that answers 19 of 225 queries, and so has the lowest ranks."""
    report = make_report(
        {"few": {"MeanRank": 1.5, "RR@10": 0.1}, "all": {"MeanRank": 9.0, "RR@10": 0.5}},
        best_mode={"MeanRank": None, "RR@10": "all"},
        best_mode_significant={"MeanRank": False, "RR@10": True},
        unranked=["MeanRank"],
        groups={"MeanRank": [], "RR@10": [["all"], ["few"]]},
    )
    few = report.modes["few"]
    measures = {
        **few.measures,
        "MeanRank": few.measures["MeanRank"].model_copy(update={"n": 19}),
    }
    modes = {**report.modes, "few": few.model_copy(update={"measures": measures})}
    comparisons = [
        one.model_copy(update={"n": 19}) if one.measure == "MeanRank" else one
        for one in report.comparisons
    ]
    return add_result(report.model_copy(update={"modes": modes, "comparisons": comparisons}))


def test_means_over_different_queries_are_not_ranked(make_report):
    report = over_different_queries(make_report)
    row, other = headline_table(report, report.measure_names).rows
    _, *cells, best = row.cells
    assert (best.marked, [cell.best for cell in cells]) == ("–", [False, False])
    assert [(cell.count, cell.marks) for cell in cells] == [("(n = 19)", ""), ("(n = 225)", "")]
    assert [cell.best for cell in other.cells[1:-1]] == [False, True]
    text = render_markdown(report)
    assert (
        "| MeanRank | 1.5000 [1.470, 1.530] (n = 19) | 9.0000 [8.970, 9.030] (n = 225) | – |"
        in text
    )
    assert "| all − few | MeanRank (n = 19) |" in text
    assert "MeanRank is not ranked: its means are over different queries." in text
    assert "1.5000 (n = 19)" in console(report)
    page = render_html(report)
    assert "The modes are not ranked on MeanRank: means over different queries." in page
    assert page.count("<strong>") == 1
    assert best_modes(report, "MeanRank") == set()
    assert better_than(report, "MeanRank") == {"few": [], "all": []}
    for kind in ("markdown", "latex"):
        assert "(n = 19)" in table_as_text(report, kind)


def test_an_interval_of_one_query_is_not_shown_even_of_an_earlier_report(make_report):
    document = make_report().model_dump(mode="json")
    document["schema_version"] = "1.0"
    for mode in document["modes"].values():
        for figures in mode["measures"].values():
            figures["n"] = 1
    for entry in document["comparisons"]:
        entry["n"] = 1
    document["manifest"]["dataset"]["queries"] = 1
    report = BenchmarkReport.model_validate(document)
    assert report.modes["hybrid"].measures["RR@10"].ci is None
    text = render_markdown(report)
    assert "| nDCG@10 | 0.3227 ᵇ | 0.2966 | **0.3417** ᵇ |" in text
    assert "95% interval" not in text.partition("## ")[0]
    for shown in (text, console(report), render_html(report), report._repr_html_()):
        assert "[0.3" not in shown
    assert BenchmarkReport.model_validate_json(report.model_dump_json()) == report
