"""Profiles: which severities and limits differ, and when."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.files import write

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels, Topics
from trectools_plus.validation import CATALOGUE, FileReport, validate_run
from trectools_plus.validation.engine import Choices

TOPICS = Topics.from_dict({str(n): f"text {n}" for n in range(1, 6)})


def qrels(n_queries: int) -> Qrels:
    return Qrels.from_dict({str(n): {"a": 1, "b": 0} for n in range(1, n_queries + 1)})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run for queries 1 and 2, with a '0' in column 2, two tags, and one odd long tag."""
    return write(tmp_path / "a.run", "1 0 a 1 2 t\n1 0 b 2 1 t\n2 0 a 1 2 " + "t/" + "\n")


def severities(report: FileReport, profile: str) -> dict[str, str]:
    judged = Choices.of(profile).apply(report)
    return {finding.code: finding.severity.value for finding in judged.findings}


def test_limits(run: Path) -> None:
    assert Choices.of("submission").max_tag_length == 25
    codes = {f.code for f in validate_run(run, max_depth=1, max_tag_length=1).findings}
    assert codes >= {"R161", "R152"}
    run.write_text("1 Q0 a 1 2 our-best-run\n")
    assert not validate_run(run, max_tag_length=12).findings
    assert [f.code for f in validate_run(run, max_tag_length=11).findings] == ["R152"]


def test_the_default_profile_is_the_catalogue(run: Path) -> None:
    report = validate_run(run, qrels=qrels(3), topics=TOPICS)
    assert Choices.of().apply(report) == report
    assert severities(report, "default") == {
        "P103": "error",
        "P108": "error",
        "R107": "warning",
        "R151": "warning",
        "R152": "warning",
    }


def test_trec_takes_missing_queries_lightly_unless_most_are_missing(run: Path) -> None:
    for n_queries, expected in ((3, "warning"), (4, "warning"), (5, "error")):
        found = severities(validate_run(run, qrels=qrels(n_queries), topics=TOPICS), "trec")
        assert found["P103"] == expected, n_queries
        assert found["P108"] == "warning"
        assert found["R107"] == "warning"


def test_submission_is_strict_about_what_trackers_refuse(run: Path) -> None:
    found = severities(validate_run(run, qrels=qrels(3), topics=TOPICS), "submission")
    assert found == dict.fromkeys(("P103", "P108", "R107", "R151", "R152"), "error")


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(UsageError, match="x"):
        Choices.of("x")


def test_the_limit_of_the_user_wins_over_the_profile() -> None:
    assert Choices.of("trec").max_depth == 1000
    choices = Choices.of("trec", max_depth=7, strict=True)
    assert (choices.max_depth, choices.strict) == (7, True)


def test_warnings_fail_a_strict_check() -> None:
    finding = CATALOGUE["R107"].finding("a.run", "x")
    report = FileReport("a.run", "run", 1, 1, (finding,))
    for ignore, strict, fails in (([], True, True), ([], False, False), (["R1"], True, False)):
        choices = Choices.of(ignore=ignore, strict=strict)
        assert choices.fails(choices.apply(report)) is fails
