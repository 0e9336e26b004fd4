"""Every public result has a short text form and an HTML form, whatever it contains."""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
import tempfile
import typing
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import polars as pl
import pytest
from harness.plans import make_small
from hypothesis import given
from hypothesis import strategies as st

import trectools_plus
from trectools_plus import Corpus, Qrels, Run, Topics, compare, evaluate, explain, load_ontology
from trectools_plus.benchmark.run.output_folder import OutputFolder
from trectools_plus.display import (
    MAX_CAPTION,
    MAX_TABLE_ROWS,
    Displayed,
    TextTable,
    as_cell,
    html_table,
)
from trectools_plus.formats.corpus import StreamedDocuments
from trectools_plus.formats.tables import CorpusDocument

ROOT = Path(trectools_plus.__file__).parent
PACKAGES = sorted(
    ".".join(stub.relative_to(ROOT.parent).parent.parts) for stub in ROOT.rglob("__init__.pyi")
)
NAME = '<b title="x">&\n]]>' + "\x00é" * 400
LIMIT = 2_000
TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "br", "small"}
ENTRIES = 40

NOT_RESULTS = {
    "BaseMeasure",
    "BaseMetric",
    "ConfigOptions",
    "ExtractionOptions",
    "Extractor",
    "Layout",
    "FixOptions",
    "GateRules",
    "Measure",
    "MultiVectorRetriever",
    "PlanOptions",
    "Resampling",
    "SweepOptions",
}
"""Settings and tools, which are constructed by users."""


def result_classes() -> dict[str, type]:
    """The public classes, and those that public functions return or that results contain."""
    found: dict[str, type] = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            exported = getattr(module, name)
            if inspect.isclass(exported):
                found[exported.__name__] = exported
                continue
            function = inspect.unwrap(exported)
            returned = str(function.__annotations__.get("return"))
            for named in re.findall(r"\b[A-Z]\w+", returned):
                value = function.__globals__.get(named)
                if inspect.isclass(value) and value.__module__.startswith("trectools_plus"):
                    found[value.__name__] = value
    return {
        name: kind
        for name, kind in found.items()
        if name not in NOT_RESULTS
        and not inspect.isabstract(kind)
        and not issubclass(kind, Exception)
        and not getattr(kind, "_is_protocol", False)
    }


CLASSES = result_classes()


class Names(dict[str, Any]):
    """The names in an annotation; those that are imported for type checkers only are ``object``."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, object)


def build(hint: Any, depth: int = 0) -> Any:
    """Return a large value of a type, with names that must be escaped."""
    origin, parameters = get_origin(hint), get_args(hint)
    kind = origin or hint
    if origin in (Union, UnionType):
        return build(next(one for one in parameters if one is not NoneType), depth)
    if origin is Literal:
        return parameters[0]
    if origin is typing.Annotated:
        return build(parameters[0], depth)
    if hint is str:
        return NAME
    if kind is np.ndarray:
        return np.linspace(0.0, 1.0, ENTRIES)
    if hint is pl.DataFrame:
        return pl.DataFrame({"query_id": [NAME] * ENTRIES})
    if hint is Path:
        return Path(NAME.replace("\x00", ""))
    if inspect.isclass(kind) and issubclass(kind, Enum):
        return next(iter(kind))
    if inspect.isclass(kind) and issubclass(kind, (bool, int, float)):
        return kind(1)
    if inspect.isclass(kind) and issubclass(kind, Mapping):
        value = build(parameters[1], depth + 1) if parameters else NAME
        return {NAME: value, **{f"{NAME}{number}": value for number in range(ENTRIES - 1)}}
    if kind is tuple and parameters and Ellipsis not in parameters:
        return tuple(build(one, depth + 1) for one in parameters)
    if inspect.isclass(kind) and issubclass(kind, (Sequence, set, frozenset)):
        items = [build(parameters[0], depth + 1) if parameters else NAME]
        return kind(items) if issubclass(kind, (set, frozenset)) else items * ENTRIES
    if inspect.isclass(kind) and kind.__module__.startswith("trectools_plus") and depth < 9:
        return instance(kind, depth + 1)
    return None


def instance(kind: Any, depth: int = 0) -> Any:
    """Return an object of a class with every field large."""
    if kind.__name__ in EXAMPLES:
        return EXAMPLES[kind.__name__]
    made = object.__new__(kind)
    if hasattr(kind, "model_fields"):
        values = {name: build(one.annotation, depth) for name, one in kind.model_fields.items()}
        return kind.model_construct(**values)
    for base in reversed(kind.__mro__):
        names = Names(vars(inspect.getmodule(base) or builtins))
        for name, annotation in getattr(base, "__annotations__", {}).items():
            if name in getattr(kind, "__dataclass_fields__", {}) and "ClassVar" not in annotation:
                hint = eval(annotation, {}, names)
                object.__setattr__(made, name, build(hint, depth))
    return made


def examples() -> dict[str, Any]:
    """Results whose content must be consistent."""
    name = NAME.replace("\n", "").replace("\x00", "")  # ids in files have neither
    queries = [f"{name}{number}" for number in range(ENTRIES)]
    qrels = Qrels.from_dict({query: {name: 1} for query in queries})
    run = Run.from_dict({query: {name: 1.0} for query in queries}, name)
    evaluation = evaluate(
        qrels, {f"{name}{number}": run for number in range(40)}, [f"P@{k}" for k in range(1, 30)]
    )
    few = evaluate(qrels, {f"{name}{number}": run for number in range(5)}, ["AP", "RR"])
    ontology = load_ontology(ROOT.parent / "fixtures" / "ontology" / "toy.obo")
    return {
        "OutputFolder": OutputFolder(Path(tempfile.gettempdir()) / "<b>"),
        "PlanFolder": make_small(Path(tempfile.mkdtemp())),
        "Run": run,
        "Qrels": qrels,
        "Topics": Topics.from_dict(dict.fromkeys(queries, NAME * 100)),
        "Corpus": Corpus.from_dict(dict.fromkeys(queries, NAME * 100)),
        "Evaluation": evaluation,
        "Comparisons": compare(few, resamples=20),
        "Ontology": ontology,
        "InformationContent": ontology.information,
        "StreamedDocuments": StreamedDocuments(
            lambda: [CorpusDocument(query, NAME, NAME * 100) for query in queries], NAME
        ),
    }


EXAMPLES: dict[str, Any] = {}


@pytest.fixture(scope="module", autouse=True)
def _examples() -> None:
    EXAMPLES.update(examples())


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_result_has_a_short_text_and_an_html_form(name: str) -> None:
    result = instance(CLASSES[name])
    for shown in (str(result), repr(result)):
        assert 0 < len(shown.encode(errors="replace")) < LIMIT
    assert " object at 0x" not in str(result)
    shown = ET.fromstring(f"<div>{result._repr_html_()}</div>")
    assert not [one for one in shown.iter() if one.attrib.get("title") == "x"], "not escaped"
    tables = list(shown.iter("table"))
    assert tables
    for table in tables:
        assert 1 <= len(list(table.iter("tr"))) <= MAX_TABLE_ROWS + 2
        widths = {len(list(row)) for row in table.iter("tr")}
        assert len(widths) <= 2, "every row has as many cells as the header, except the last"
    if isinstance(result, Displayed):
        assert {one.tag for one in tables[0].iter()} <= TAGS
        assert tables[0].findtext("caption")
        assert all(len(cell.text or "") <= MAX_CAPTION * 4 for cell in shown.iter())


def test_values_are_shown_in_both_forms() -> None:
    qrels = Qrels.from_dict({"q1": {"d1": 1, "d2": 0}})
    assert str(qrels) == "<Qrels: 1 query, 2 judgments>"
    rows = [[cell.text for cell in row] for row in ET.fromstring(qrels._repr_html_()).iter("tr")]
    assert rows == [
        ["query_id", "iteration", "doc_id", "relevance"],
        ["q1", "0", "d1", "1"],
        ["q1", "0", "d2", "0"],
    ]
    assert "2 × 3" in as_cell(np.ones((2, 3)))
    definition = explain("nDCG@10")
    assert "nDCG@10" in definition._repr_html_()
    assert str(definition).startswith("nDCG@10: ")


@given(st.lists(st.text(), min_size=1, max_size=4), st.text())
def test_any_text_is_escaped(cells: list[str], caption: str) -> None:
    table = ET.fromstring(html_table(TextTable.of(cells, [cells], caption=caption)))
    expected = {"table", "thead", "tbody", "tr", "th"}
    expected |= ({"td"} if len(cells) > 1 else set()) | ({"caption"} if caption else set())
    assert {one.tag for one in table.iter()} == expected
