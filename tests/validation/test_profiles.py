"""Profiles: which severities and limits differ, and when."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels, Topics
from trectools_plus.validation import CATALOGUE, FileReport, Severity, validate_run
from trectools_plus.validation.settings import PROFILES, Settings, find_profile, resolve_choices

TOPICS = Topics.from_dict({str(n): f"text {n}" for n in range(1, 6)})


def qrels(n_queries: int) -> Qrels:
    return Qrels.from_dict({str(n): {"a": 1, "b": 0} for n in range(1, n_queries + 1)})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run for queries 1 and 2, with a '0' in column 2, two tags, and one odd long tag."""
    path = tmp_path / "a.run"
    path.write_text("1 0 a 1 2 t\n1 0 b 2 1 t\n2 0 a 1 2 " + "t/" * 13 + "\n")
    return path


def severities(report: FileReport, profile: str) -> dict[str, str]:
    judged = PROFILES[profile].apply(report)
    return {finding.code: finding.severity.value for finding in judged.findings}


def test_the_rules_of_every_profile_exist() -> None:
    for profile in PROFILES.values():
        assert profile.summary
        for code in {*profile.severities, *profile.unchanged_if_most}:
            assert CATALOGUE[code].code == code
        assert profile.unchanged_if_most <= set(profile.severities)


def test_the_default_profile_is_the_catalogue(run: Path) -> None:
    report = validate_run(run, qrels=qrels(3), topics=TOPICS)
    assert PROFILES["default"].apply(report) == report
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


def test_a_profile_does_not_change_what_scoring_refuses(run: Path) -> None:
    report = validate_run(run)
    judged = PROFILES["submission"].apply(report)
    assert [f.blocks_scoring for f in judged.findings] == [
        f.blocks_scoring for f in report.findings
    ]
    assert any(f.severity is Severity.ERROR for f in judged.findings)


def test_limits_of_profiles() -> None:
    assert {name: profile.max_depth for name, profile in PROFILES.items()} == {
        "default": 100,
        "trec": 1000,
        "submission": 100,
    }
    assert PROFILES["submission"].max_tag_length == 25
    assert PROFILES["trec"].max_tag_length == 64


def test_limits_are_obeyed_by_the_rules(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("".join(f"1 Q0 d{n} {n} {9 - n} {'t' * 13}\n" for n in range(1, 4)))
    codes = {f.code for f in validate_run(path, max_depth=2, max_tag_length=12).findings}
    assert codes == {"R152", "R161"}
    assert not validate_run(path, max_depth=3, max_tag_length=13).findings


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(UsageError, match="x"):
        find_profile("x")


def test_arguments_win_over_settings_and_settings_over_the_profile() -> None:
    settings = Settings(profile="trec", max_depth=500, strict=True, ignore=("R107",))
    choices = resolve_choices(settings)
    assert (choices.profile.name, choices.profile.max_depth, choices.strict) == ("trec", 500, True)
    assert not choices.chosen("R107")
    choices = resolve_choices(
        settings, Settings(profile="submission", max_depth=7, strict=False, ignore=("R106",))
    )
    assert (choices.profile.name, choices.profile.max_depth) == ("submission", 7)
    assert choices.profile.max_tag_length == 25
    assert not choices.strict
    assert choices.chosen("R107")
    assert not choices.chosen("R106")


def test_a_selected_rule_is_shown_although_the_settings_ignore_it() -> None:
    choices = resolve_choices(Settings(ignore=("R1",), select=("Q",)), Settings(select=("R107",)))
    assert choices.chosen("R107")
    assert not choices.chosen("Q101")


def test_rules_that_are_off_run_when_named(run: Path) -> None:
    assert not resolve_choices(Settings()).optional_rules
    assert not resolve_choices(Settings(), Settings(select=("R1",))).optional_rules
    choices = resolve_choices(Settings(), Settings(select=("R128",)))
    assert choices.optional_rules
    run.write_text("2 Q0 a 1 1 t\n1 Q0 a 1 1 t\n")
    report = validate_run(run, optional_rules=choices.optional_rules)
    assert [f.code for f in choices.apply(report).findings] == ["R128"]


def test_rules_can_be_left_out_in_some_files(tmp_path: Path) -> None:
    settings = Settings(
        path=tmp_path / "trectools.toml",
        per_file_ignores={"old/*.run": ("R107", "R15"), "b.run": ("R1",)},
    )
    choices = resolve_choices(settings)
    finding = CATALOGUE["R107"].finding
    for name, left in (("old/a.run", 0), ("new/a.run", 1), ("new/b.run", 0), ("old.run", 1)):
        path = str(tmp_path / name)
        report = FileReport(path, "run", 1, 1, (finding(path, "x"),))
        assert len(choices.apply(report).findings) == left, name
        assert choices.fails(choices.apply(report)) is False
        assert replace(choices, strict=True).fails(choices.apply(report)) is bool(left)


def test_codes_of_the_settings_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "trectools.toml"
    for settings in (
        Settings(path, select=("X9",)),
        Settings(path, ignore=("X9",)),
        Settings(path, per_file_ignores={"*": ("X9",)}),
        Settings(path, profile="X9"),
    ):
        with pytest.raises(UsageError, match=r"X9.*trectools\.toml"):
            resolve_choices(settings)
