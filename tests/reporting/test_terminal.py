"""The console table: same figures, at most 100 columns, whatever the number of modes."""

import io

import pytest

from trectools_plus.reporting import print_report, table_as_text
from trectools_plus.reporting.benchmark import CLAIMS_TITLE, list_claims
from trectools_plus.reporting.comparison import name_letters

SIX = ("nDCG@10", "AP@100", "RR@10", "R@50", "R@100", "HitRate@10", "MaxOntSim@10")


def printed(report, width=None, **options):
    stream = io.StringIO()
    print_report(report, stream, width=width, **options)
    return stream.getvalue()


def test_three_modes_stand_side_by_side(make_report):
    lines = printed(make_report()).splitlines()
    assert " ".join(lines[:2]) == (
        "Hybrid scores highest on nDCG@10: 0.342, +0.019 over Lexical-Only [−0.001, +0.039]; not "
        "significant with 225 queries."
    )
    assert "irds:cranfield · 225 queries" in lines
    header = next(line for line in lines if "Metric" in line)
    assert header.split() == [
        *("Metric", "Lexical-Only", "ᵃ", "Vector-Only", "ᵇ", "Hybrid", "ᶜ", "Best", "Mode")
    ]
    row = next(line for line in lines if line.startswith(" nDCG@10"))
    assert row.split() == ["nDCG@10", "0.3227", "ᵇ", "0.2966", "0.3417", "ᵇ", "Hybrid", "n.s."]


@pytest.mark.parametrize("modes", [1, 2, 3, 4, 5, 8, 30])
@pytest.mark.parametrize(
    "length",
    [1, 90, *(pytest.param(n, marks=pytest.mark.slow("lengths in between")) for n in (12, 40))],
)
@pytest.mark.parametrize("measures", [1, 7])
def test_it_fits_100_columns(make_report, modes, length, measures):
    names = [f"{n:02}".rjust(length, "r")[-max(length, 2) :] for n in range(modes)]
    means = {
        name: dict.fromkeys(SIX[:measures], 0.1 + place / 100) for place, name in enumerate(names)
    }
    report = make_report(means, latency=False)
    text = printed(report, full=True)
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("0.1000") >= measures
    for measure in SIX[:measures]:
        assert measure in text
    for width in (80, 100):
        lines = printed(report, width=width).splitlines()
        assert len(lines) <= 40
        assert max(map(len, lines)) <= width
        assert "".join(lines).count(f"{0.1 + (modes - 1) / 100:.4f}") == min(measures, 6)


def test_what_must_not_be_overlooked_is_noted(make_report):
    finding = {
        "code": "R141",
        "name": "tied-scores",
        "severity": "warning",
        "line": 1,
        "column": None,
        "count": 1,
        "query_id": None,
        "doc_id": None,
        "message": "tie",
        "remedy": None,
        "fix": "ask",
    }
    diagnostics = {
        "status": "incomplete",
        "notes": ["no results for 1 of 2 queries (7)"],
        "findings": [finding],
    }
    report = make_report(diagnostics=diagnostics)
    text = printed(report)
    assert text.count("no results for 1 of 2 queries (7)") == 1
    assert "Lexical-Only, Vector-Only and Hybrid (incomplete): no results" in text
    claims = list_claims(report)
    assert sum("R141" in claim for claim in claims) == 3
    assert CLAIMS_TITLE not in text


def test_markup_in_names_is_text(make_report):
    assert "[red]x[/red]" in printed(make_report({"[red]x[/red]": {"RR@10": 0.5}}))


@pytest.mark.parametrize("width", [80, 100])
def test_many_notes_and_findings_fit_40_lines(make_report, width):
    notes = [
        f"note {n} on results of this mode that is long enough to be wrapped" for n in range(9)
    ]
    means = {f"mode-{n}": dict.fromkeys(SIX, 0.1 + n / 100) for n in range(12)}
    report = make_report(means, diagnostics={"status": "incomplete", "notes": notes})
    report = report.model_copy(update={"notes": [f"Remark {n}." for n in range(50)]})
    lines = printed(report, width=width).splitlines()
    assert len(lines) <= 40
    assert lines[-1].endswith("more lines: --all")
    assert sum(line.startswith(" mode-") for line in lines) == 12
    assert len(printed(report, width=width, lines_after=6).splitlines()) <= 34
    assert "Remark 49." in printed(report, width=width, full=True)
    assert "Look at next" not in printed(report, width=width, notes=False)


def test_modes_that_do_not_fit_are_counted(make_report):
    means = {f"mode-{n:02}": dict.fromkeys(SIX, 0.1 + n / 100) for n in range(60)}
    text = printed(make_report(means))
    assert "mode-59" in text
    assert "mode-00" not in text
    shown = sum(line.startswith(" mode-") for line in text.splitlines())
    assert f"… {60 - shown} more modes: --all" in text


@pytest.mark.parametrize("runs", [2, 3, 20])
def test_a_baseline_has_a_table_of_differences(make_report, runs):
    means = {f"s{n:02}": dict.fromkeys(SIX, 0.1 + n / 100) for n in range(runs)}
    report = make_report(means)
    config = {**report.manifest.config, "baseline": ["s00"]}
    changes = {
        "manifest": report.manifest.model_copy(update={"config": config}),
        "comparisons": [one for one in report.comparisons if one.baseline == "s00"],
        "best_mode": dict.fromkeys(report.best_mode),
        "best_mode_significant": dict.fromkeys(report.best_mode, False),
        "verdict": None,
        "best_overall": None,
    }
    found = type(report).model_validate(report.model_copy(update=changes).model_dump(mode="json"))
    lines = printed(found).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    header = next(line for line in lines if line.startswith(" Mode"))
    assert header.split()[:7] == ["Mode", "nDCG@10", "Δ", "Interval", "Adj.", "p", "W/T/L"]
    best = f"s{runs - 1:02}"
    row = next(line for line in lines if line.startswith(f" {best}"))
    difference = (runs - 1) / 100
    star = ["*"] if report.comparisons[(runs - 2) * len(SIX)].significant else []
    assert row.split()[1:][: 3 + len(star)] == [
        f"{0.1 + difference:.4f}",
        f"{difference:+.4f}",
        *star,
        f"[{difference - 0.02:+.3f},".replace("-", "−"),
    ]
    assert "100/25/100" in row
    assert not any(letter in "".join(lines) for letter in "ᵃᵇᶜ")
    assert "Best" not in "".join(lines)
    for text in (printed(found, full=True), table_as_text(found, "markdown")):
        assert "Best Mode" not in text
        assert "Δ" in text
        assert "W/T/L" in text


def test_letters_end_with_the_alphabet(make_report):
    for runs in (3, 9, 20, 40):
        report = make_report({f"s{n:02}": dict.fromkeys(SIX, 0.1 + n / 10) for n in range(runs)})
        assert bool(name_letters(report, SIX)) == (runs < 24)
        text = table_as_text(report, "markdown")
        assert ("A letter: significantly better" in text) == (runs < 24)
