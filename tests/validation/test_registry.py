"""Every rule explains itself, and rules are chosen by code or name."""

from __future__ import annotations

import re

import pytest

from trectools_plus.errors import UsageError
from trectools_plus.validation import CATALOGUE
from trectools_plus.validation.engine import Choices
from trectools_plus.validation.registry import Rule
from trectools_plus.validation.rules import files, pairs, qrels, runs, topics

RULES = {rule.code: rule for rule in CATALOGUE}


def test_no_code_and_no_name_of_a_subject_is_used_twice() -> None:
    rules = [
        *files.RULES,
        *runs.RULES,
        *qrels.RULES,
        *pairs.RULES,
        *topics.TOPIC_RULES,
        *topics.TEST_SET_RULES,
    ]
    assert len({rule.code for rule in rules}) == len(rules) == len([*CATALOGUE])
    assert len({(rule.on, rule.name) for rule in rules}) == len(rules)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_every_rule_explains_itself(rule: Rule) -> None:
    assert re.fullmatch(r"[FRQTP]\d{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    subjects = {"F": "file", "R": "run", "Q": "qrels", "T1": "topics", "T2": "testset", "P": "pair"}
    assert rule.on == next(on for start, on in subjects.items() if rule.code.startswith(start))
    assert len(rule.rationale) > 40
    assert rule.rationale.endswith(".")
    assert rule.checks
    assert rule.remedy
    assert rule.remedy[-1] not in ".!"
    assert re.match(
        rf"(file|run|qrels|topics|set)\.(txt|txt\.gz|tsv|yaml)(:\d+)?: \w+ {rule.code}: ",
        rule.example,
    )
    assert rule.check.__doc__


def test_only_listed_errors_do_not_block_scoring() -> None:
    """The rank column, policies and coverage never block; some others depend on the content."""
    errors = [
        rule
        for rule in CATALOGUE
        if "error" in {rule.severity, *(case.severity for case in rule.cases)}
    ]
    harmless = {rule.code for rule in errors if not rule.blocks_scoring}
    about_sets = {rule.code for rule in CATALOGUE if rule.on == "testset"}
    ranks_and_coverage = {"R120", "R122", "R161", "Q132", "Q133", "P103", "P107", "P108", "P109"}
    assert harmless - about_sets == ranks_and_coverage | {"T103"}
    blocking = {rule.code for rule in CATALOGUE if rule.blocks_scoring}
    assert about_sets & blocking == {"T201", "T202", "T203", "T213"}


def test_trec_eval_refuses_unless_a_rule_says_otherwise() -> None:
    """Scored are errors with which the data determine the figures of C trec_eval."""
    of_drop_in = {
        use: {rule.code for rule in CATALOGUE if rule.drop_in == use}
        for use in ("permissive", "scores")
    }
    assert of_drop_in["permissive"] == {"R108", "R110", "R121", "P101", "P105"}
    assert of_drop_in["scores"] == (
        {"F103", "R102", "R105", "R114", "R142"}
        | {"Q103", "Q110", "Q111", "Q114", "Q135", "P104", "P106"}
    )
    assert all(rule.can_block_scoring for rule in CATALOGUE if rule.drop_in != "refuses")


def test_select_and_ignore_take_codes_and_prefixes() -> None:
    choices = Choices.of(None, ["R", "Q142"], ["R12"])
    assert [code for code in ("R131", "R120", "Q142", "Q141", "F101") if choices.chosen(code)] == [
        "R131",
        "Q142",
    ]


def test_a_rule_that_is_off_takes_its_whole_code() -> None:
    assert not Choices.of(None, ["R12"], []).chosen("R128")
    assert Choices.of(None, ["R12", "R128"], []).chosen("R128")
    assert not Choices.of(None, ["R128"], ["R128"]).chosen("R128")


def test_an_unknown_code_is_a_usage_error() -> None:
    for selected, ignored, name in (
        (["X1"], [], "X1"),
        (["rank-gaps"], [], "rank-gaps"),
        ([], ["R999"], "R999"),
    ):
        with pytest.raises(UsageError, match=name):
            Choices.of(None, selected, ignored)


def test_rules_are_chosen_by_name_too() -> None:
    choices = Choices.of(None, ["header-line", "Rank-Gap", "query-order"], ["q103"])
    assert {code for code in RULES if choices.chosen(code)} == {"R105", "T103", "R124", "R128"}
