"""Every standard figure passes through one call into pytrec_eval: halved there, it is halved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trectools_plus
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import evaluate
from trectools_plus.measures.definitions.trec_eval_measures import (
    STANDARD_MEASURES,
    TREC_EVAL_MEASURES,
    sets_of,
)
from trectools_plus.measures.providers import pytrec_eval
from trectools_plus.trec_eval.arguments import parse_arguments
from trectools_plus.trec_eval.builtin import SCORERS
from trectools_plus.trec_eval.inputs import Input
from trectools_plus.trec_eval.output import Scores
from trectools_plus.trec_eval.scoring import score

QRELS = Qrels.from_dict(
    {
        "1": {"a": 2, "b": 0, "c": 1, "x": 1, "n": -1},
        "2": {"a": 0, "b": 1, "c": 0, "d": 3},
        "3": {"a": 1, "z": 2},
    }
)
# The first document of each query is relevant, so that RR@k halved is still above 1/k.
RUN = Run.from_dict(
    {
        "1": {"a": 9.0, "b": 8.0, "c": 7.0, "n": 6.5, "u": 6.0},
        "2": {"d": 9.0, "a": 8.0, "c": 7.5, "b": 7.0},
        "3": {"a": 2.0, "u": 1.0, "v": 0.5},
    }
)
TEXTS = {one.name for one in TREC_EVAL_MEASURES if one.average == "text"}


@pytest.fixture
def halved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Halve every number that comes back; the list counts the calls."""
    calls: list[int] = []
    halve_results(monkeypatch, calls)
    return calls


def halve_results(monkeypatch: pytest.MonkeyPatch, calls: list[int]) -> None:
    plain = pytrec_eval.call_pytrec_eval

    def halve(*given: Any, **options: Any) -> Mapping[str, Mapping[str, float]]:
        calls.append(1)
        answers = plain(*given, **options)
        return {
            query: {name: value / 2 for name, value in values.items()}
            for query, values in answers.items()
        }

    monkeypatch.setattr(pytrec_eval, "call_pytrec_eval", halve)


def test_the_package_calls_pytrec_eval_in_one_place() -> None:
    package = Path(trectools_plus.__file__).parent
    pattern = re.compile(r"(?m)^\s*(?:import|from) +pytrec_eval\w*")
    imports = {
        str(path.relative_to(package)): found
        for path in package.rglob("*.py")
        if (found := pattern.findall(path.read_text("utf-8")))
    }
    assert imports == {"measures/providers/pytrec_eval.py": ["    import pytrec_eval_ext"]}


def names() -> list[str]:
    """Every standard measure: whole, cut, and with each of its parameters set."""
    at_level, found = {"rel": "2", "dcg": "'exp-log2'"}, []
    for one in STANDARD_MEASURES:
        cutoffs = [None] if one.trec_name else []
        cutoffs += [5] if one.trec_cut_name else []
        cutoffs = [0.3] if one.label == "IPrec" else cutoffs
        forms = ["", *(f"({key}={at_level[key]})" for key in one.defaults)]
        found += [
            f"{one.label}{form}" + ("" if at is None else f"@{at}")
            for at in cutoffs
            for form in forms
        ]
    return found


def test_every_standard_figure_of_eval_is_halved(
    halved: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = names()
    half = evaluate(QRELS, RUN, asked).tables["run"]
    assert halved
    monkeypatch.undo()
    whole = evaluate(QRELS, RUN, asked).tables["run"]
    assert (whole > 0).any(axis=0).all()
    assert (half == whole / 2).all()


def figures(version: int, *flags: str) -> Scores:
    words = [f"--trec-eval-version={version}", "-m", "all_trec", *flags, "qrels", "run"]
    return score(Input.from_tables(QRELS, RUN), parse_arguments(words))


@pytest.mark.parametrize("version", [9, 10])
@pytest.mark.parametrize(
    "flags",
    [(), ("-J",), ("-l2",), ("-M2",), ("-c",), ("-m", "P.1,3", "-m", "ndcg.1=3")],
    ids=" ".join,
)
def test_every_figure_of_the_drop_in_is_halved(
    version: int, flags: tuple[str, ...], halved: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    half = figures(version, *flags)
    assert halved
    monkeypatch.undo()
    whole = figures(version, *flags)
    computed_here = {*SCORERS} if version == 10 else set()
    passed = set()
    for name in {*sets_of(version)["all_trec"]} - TEXTS:
        halves = name not in computed_here
        expected = whole.values[name] / 2 if halves else whole.values[name]
        np.testing.assert_array_equal(half.values[name], expected, err_msg=name)
        passed |= {name} if halves else set()
    assert len(passed) == len({*sets_of(version)["all_trec"]} - TEXTS - computed_here)
    assert half.values["relstring"].tolist() == whole.values["relstring"].tolist()
