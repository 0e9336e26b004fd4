"""Wrong arguments of public functions and classes raise an error of this package, of one line."""

import datetime
import importlib
import inspect
import math
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from harness.tables import cases_of

import trectools_plus
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.retrieval.fusion import Fusion

ROOT = Path(trectools_plus.__file__).parent
PACKAGES = sorted(
    ".".join(stub.relative_to(ROOT.parent).parent.parts) for stub in ROOT.rglob("__init__.pyi")
)
PUBLIC = {
    name: package for package in PACKAGES for name in importlib.import_module(package).__all__
}

INVALID = {
    **cases_of(__file__, "invalid"),
    "a huge integer": 10**400,
    "an integer with too many digits to print": 10**5000,
    "nan": math.nan,
    "infinity": -math.inf,
    "a complex number": 1j,
    "a fraction": Fraction(1, 3),
    "bytes": b"bytes",
    "a tuple": (1, "a"),
    "a set": {1, 2},
    "a dictionary with None": {None: {None: None}},
    "a dictionary of numbers as ids": {1.5: {2.5: 1}},
    "an empty pandas frame": pd.DataFrame(),
    "an empty Polars frame": pl.DataFrame(),
    "a frame with other columns": pd.DataFrame({"x": [1], "y": ["a"]}),
    "a frame with lists": pl.DataFrame({"qid": [[1]], "docno": [[2]], "score": [["a"]]}),
    "an array": np.array([[1.5, math.nan], [0.0, -math.inf]]),
    "an array of objects": np.array([object(), "a"], dtype=object),
    "a generator": (item for item in [1, None]),
    "an object": object(),
    "a class": dict,
    "a function without parameters": lambda: None,
    "a function that fails": partial(int, "x"),
    "a path to nothing": Path("missing") / "file",
    "a folder": Path(),
    "a date": datetime.date(2024, 2, 29),
    "an exception": ValueError("x"),
}

VALID = {**cases_of(__file__, "valid"), "fusion": Fusion()}
"""Values for the other parameters, so that the wrong one is reached."""

FIXTURES = ROOT.parent / "fixtures"
QUICK = {
    "resamples": 100,
    "test_file": FIXTURES / "testsets" / "phentrieve-list.json",
    "ontology": FIXTURES / "ontology" / "toy.obo",
}
"""Values for optional parameters whose defaults are slow."""


def callables():
    """The public functions and constructors, and the methods of tables and results."""
    found = {}
    for name, package in PUBLIC.items():
        exported = getattr(importlib.import_module(package), name)
        if inspect.isabstract(exported):
            methods = dict.fromkeys(exported.__abstractmethods__, lambda *_: 0.0)
            exported = type(name, (exported,), methods)
        if not (inspect.isclass(exported) and issubclass(exported, Exception)):
            found[name] = exported
    evaluation = trectools_plus.evaluate(VALID["qrels"], VALID["runs"], ["AP", "nDCG@10"])
    comparisons = trectools_plus.compare(evaluation, resamples=100)
    tables = (trectools_plus.Run, trectools_plus.Qrels, trectools_plus.Topics)
    others = ("count", "index", "plot")  # of sequences; a plot is slow, and has optional arguments
    for one in (evaluation, comparisons, *tables, trectools_plus.Corpus):
        owner = one.__name__ if inspect.isclass(one) else type(one).__name__
        for method in dir(one):
            chosen = not inspect.isclass(one) or method in ("from_dict", "from_pandas")
            chosen &= not method.startswith("_") and method not in others
            if chosen and inspect.ismethod(getattr(one, method)):
                found[f"{owner}.{method}"] = getattr(one, method)
    return found


CALLABLES = callables()


def parameters_of(exported):
    try:
        parameters = inspect.signature(exported).parameters.values()
    except ValueError:
        return []
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one for one in parameters if one.kind not in variable]


def arguments(exported, wrong, value):
    """The arguments of a call in which one parameter has a value, and required ones a valid one."""
    positional = []
    named = {}
    for one in parameters_of(exported):
        if one is not wrong and one.default is not inspect.Parameter.empty:
            if one.name in QUICK:
                named[one.name] = QUICK[one.name]
            continue
        given = value if one.name == wrong.name else VALID.get(one.name, value)
        if one.kind is inspect.Parameter.POSITIONAL_ONLY:
            positional.append(given)
        else:
            named[one.name] = given
    return positional, named


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_wrong_arguments_are_one_line(name, tmp_path, monkeypatch, thorough):
    """With the profile fast, a parameter gets each fourth value, the next one those after them."""
    monkeypatch.chdir(tmp_path)
    exported = CALLABLES[name]
    assert len(INVALID) >= 40
    wrong = []
    step = 1 if thorough else 4
    for number, parameter in enumerate(parameters_of(exported)):
        for described, value in list(INVALID.items())[number % step :: step]:
            positional, named = arguments(exported, parameter, value)
            try:
                exported(*positional, **named)
            except TrectoolsPlusError as error:
                if "\n" in str(error) or not str(error).strip():
                    wrong.append(f"{parameter.name} = {described}: {str(error)!r}")
            except Exception as error:
                what = f"{type(error).__name__} {error!s:.90}"
                wrong.append(f"{parameter.name} = {described}: {what}")
    assert not wrong, "\n".join(wrong)
