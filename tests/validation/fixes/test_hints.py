"""Hints never lead to the loss of rows, scores or grades."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from trectools_plus.validation import (
    CATALOGUE,
    FileReport,
    FindingsError,
    load_qrels,
    load_run,
    validate_qrels,
    validate_run,
)
from trectools_plus.validation.fixes.engine import fix_qrels, fix_run
from trectools_plus.validation.registry import Hit, Rule
from trectools_plus.validation.rendering import RENDERERS, render

CHANGING = [rule for rule in CATALOGUE if rule.rule_fix is not None and rule.rule_fix.effect]
FIXED = [rule for rule in CATALOGUE if rule.rule_fix and {"run", "qrels"} & set(rule.fixed_kinds)]
RUN = "1 Q0 d1 1 9.5 t\n1 Q0 d2 2 8.0 t\n1 Q0 d3 3 7.25 t\n2 Q0 d1 1 7.5 t\n2 Q0 d2 2 7.0 t\n"
QRELS = "1 0 d1 2\n1 0 d2 0\n1 0 d3 1\n2 0 d1 1\n2 0 d2 0\n"

BROKEN = {
    "R110": RUN.replace(".", ","),
    "R131": RUN + "1 Q0 d1 4 6.0 t\n",
    "R141": RUN.replace("8.0", "9.5"),
    "R142": RUN.replace("9.5", "1").replace("8.0", "1").replace("7.25", "1"),
    "R143": RUN.replace("8.0", "9.50000001"),
    "R161": RUN + "".join(f"3 Q0 d{n} {n} {500 - n} t\n" for n in range(1, 151)),
    "Q132": QRELS + "3 0 d1 -2\n",
    "Q142": QRELS + "1 0 d1 0\n",
    "P110": RUN + "d9 Q0 d9 1 5.0 t\nd9 Q0 d1 2 4.0 t\n",
}


def every_finding() -> FileReport:
    """Return a report with a finding of every rule."""
    findings = tuple(rule.finding(Hit("broken", lines=[1]), "a.run") for rule in CATALOGUE)
    return FileReport("a.run", "run", 3, 1, findings)


def test_the_rules_that_delete_or_rewrite_are_known() -> None:
    assert {rule.code for rule in CHANGING} == set(BROKEN)


@pytest.mark.parametrize("name", RENDERERS)
def test_no_output_suggests_a_fix_that_deletes_or_rewrites(name: str) -> None:
    text = render([every_finding()], name)
    for line in text.splitlines():
        if "--fix" in line:
            assert not [rule.code for rule in CHANGING if rule.code in line.partition("--fix")[2]]
    assert not re.search(r"--(dedup|on-conflict|score-from-rank)", text)


@pytest.mark.parametrize("rule", CHANGING, ids=lambda rule: rule.code)
def test_each_such_fix_has_its_own_line_with_its_effect(rule: Rule) -> None:
    report = every_finding()
    text = " ".join(render([report]).split())
    assert rule.rule_fix is not None
    assert f" {rule.code} {rule.rule_fix.effect}" in text
    found = json.loads(render([report], "json"))["files"][0]["findings"]
    assert {one["code"]: one.get("fix_effect") for one in found}[rule.code] == rule.rule_fix.effect


@pytest.mark.parametrize("rule", FIXED, ids=lambda rule: rule.code)
def test_errors_of_scoring_suggest_no_fix_that_deletes_or_rewrites(rule: Rule) -> None:
    message = str(FindingsError([rule.finding(Hit("broken"), "a.run")]))
    assert not ((rule in CHANGING) and "--fix" in message)


def rows(path: Path) -> Counter[tuple[str, ...]]:
    """Count the distinct triples of query, document, and score or grade."""
    fields = [line.split() for line in path.read_text("utf-8").splitlines() if line.strip()]
    return Counter({(one[0], one[2], one[4 if len(one) > 4 else 3]): 1 for one in fields})


@pytest.mark.parametrize("code", BROKEN)
def test_the_effect_is_what_the_fix_does(tmp_path: Path, code: str) -> None:
    path, fixed = tmp_path / "in", tmp_path / "out"
    path.write_text(BROKEN[code])
    is_qrels = code.startswith("Q")
    other = tmp_path / "other"
    other.write_text(QRELS)
    report = validate_qrels(path) if is_qrels else validate_run(path, qrels=other)
    finding = next(one for one in report.findings if one.code == code)
    assert finding.effect
    (fix_qrels if is_qrels else fix_run)(path, fixed, codes=(code,))
    assert rows(path) != rows(fixed)
    numbers = [int(text.replace(",", "")) for text in re.findall(r"\d[\d,]*", finding.effect)]
    if "cuts" in finding.effect:
        sizes = [len(one.read_text().splitlines()) for one in (path, fixed)]
        assert numbers[:2] == sizes
    elif "deletes" in finding.effect and numbers and "quer" not in finding.effect:
        assert numbers[0] == report.rows - len(fixed.read_text().splitlines())


MESSY = {
    "run": "\ufeff# made by hand\r\n\r\nqid Q0 docno rank score tag\r\n"
    + RUN.replace("1 Q0 d2 2", "1\t0  d2 7").replace(" t\n", " a+b\r\n", 2)
    + "1 Q0 d4 -1 1.5 c\r\n1 Q0 d4 -1 1.5 c",
    "qrels": "\ufeff# made by hand\r\n\r\nqid iter docno rel\r\n"
    + QRELS.replace("d1 2", "d1\t2.0").replace(" 0 d2", "\x0c0 d2")
    + "1 0 d4 1\r\n1 0 d4 1",
}


@pytest.mark.parametrize("rule", FIXED, ids=lambda rule: rule.code)
def test_all_other_fixes_keep_what_is_scored(tmp_path: Path, rule: Rule) -> None:
    for kind, text in MESSY.items():
        is_safe = kind in rule.fixed_kinds and rule not in CHANGING
        codes = (rule.code,) if is_safe else ()
        path, fixed = tmp_path / kind, tmp_path / f"fixed-{kind}"
        path.write_bytes(text.encode())
        summary = (fix_run if kind == "run" else fix_qrels)(path, fixed, codes=codes)
        assert summary.applied
        if kind == "qrels":
            assert load_qrels(fixed).to_dict() == load_qrels(path).to_dict()
        else:
            with pytest.raises(FindingsError, match="R131"):
                load_run(path)
            assert load_run(fixed).to_dict() == {
                "1": {"d1": 9.5, "d2": 8.0, "d3": 7.25, "d4": 1.5},
                "2": {"d1": 7.5, "d2": 7.0},
            }


def test_a_deep_run_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "deep.run"
    path.write_text(
        "".join(f"{q} Q0 d{n} {n} {2000 - n} t\n" for q in range(6) for n in range(1, 1001))
    )
    text = " ".join(render([validate_run(path)]).split())
    assert "If the task allows deeper runs, set --profile trec or --max-depth 1000." in text
    assert (
        "R161 cuts 6,000 rows to 600; AP@1000 and all other figures beyond rank 100 change" in text
    )
    assert "--fix" not in text
