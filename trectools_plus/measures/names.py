"""From a measure's name to the measure.

Canonical names are those of ``ir_measures``: ``Label(parameter=value)@cutoff``. Common aliases
(``MRR@10``), trec_eval's spellings (``ndcg_cut_10``, ``P.5,10``) and classes of one's own
(``module:Class@10``) are read too; what was written is kept as the measure's ``alias``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from trectools_plus.errors import UsageError
from trectools_plus.measures.base import Definition, Measure
from trectools_plus.measures.cascade import ERR
from trectools_plus.measures.external import IrMeasure, known_labels
from trectools_plus.measures.families import FAMILIES
from trectools_plus.measures.own import OWN_MEASURES, ColumnMeasure
from trectools_plus.measures.spelling import Spelled, spelled, split_names
from trectools_plus.measures.trec_eval import TrecEvalMeasure
from trectools_plus.measures.user import (
    construct,
    entry_point_names,
    load_class,
    load_entry_point,
    refuse_false_name,
)

__all__ = [
    "ALIASES",
    "explain",
    "measure_labels",
    "parse_measure",
    "parse_measures",
    "split_names",
]

ALIASES: dict[str, Spelled] = {
    "NDCG": Spelled("nDCG", {}),
    "MAP": Spelled("AP", {}),
    "MRR": Spelled("RR", {}),
    "Recall": Spelled("R", {}),
    "Precision": Spelled("P", {}),
    "HR": Spelled("HitRate", {}),
    "Hit": Spelled("HitRate", {}),
    "RPrec": Spelled("Rprec", {}),
    "BPref": Spelled("Bpref", {}),
    "SetRelP": Spelled("SetP", {"relative": True}),
    "NumRelRet": Spelled("NumRet", {"rel": 1}),
}
TREC_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
TREC_DEFAULTS: dict[str, tuple[float, ...]] = {
    "ndcg_cut": TREC_CUTOFFS,
    "map_cut": TREC_CUTOFFS,
    "recall": TREC_CUTOFFS,
    "success": (1, 5, 10),
    "iprec_at_recall": tuple(step / 10 for step in range(11)),
}
"""What trec_eval asks for when one of these is named without parameters."""

_FAMILIES = {family.label: family for family in FAMILIES}
_OWN_MEASURES: tuple[type[ColumnMeasure], ...] = (*OWN_MEASURES, ERR)
_OWN = {one.label: one for one in _OWN_MEASURES}
_ONTOLOGY_LABEL = "MaxOntSim"
_TREC_NAMES: dict[str, Spelled] = {
    **{f.trec_name: Spelled(f.label, {}) for f in reversed(FAMILIES) if f.trec_name},
    "set_relative_P": Spelled("SetP", {"relative": True}),
    "num_rel_ret": Spelled("NumRet", {"rel": 1}),
}
_TREC_CUT_NAMES: dict[str, str] = {
    **{
        f.trec_cut_name: f.label
        for f in reversed(FAMILIES)
        if f.trec_cut_name and f.trec_cut_name != f.trec_name
    },
    "iprec_at_recall": "IPrec",
}
_TREC_SPELLING = re.compile(r"(?P<name>[A-Za-z]\w*?)[._](?P<values>\d[\d.,]*)")
_CLASS = re.compile(r"(?P<module>[^\W\d][\w.]*):(?P<rest>.+)", re.DOTALL)


def parse_measure(name: str) -> Measure:
    """Read one measure's name.

    Args:
        name: A canonical name, an alias, trec_eval's spelling, or ``module:Class``.

    Returns:
        The measure, its parameters bound and checked.

    Raises:
        UsageError: If there is no such measure (the nearest names are given), a parameter is wrong,
            or the name stands for several measures.
    """
    measures = _parse(name)
    if len(measures) > 1:
        names = ", ".join(measure.name for measure in measures)
        raise UsageError(f"{name} stands for several measures", remedy=f"choose one of {names}")
    return measures[0]


def parse_measures(names: Iterable[str | Measure]) -> list[Measure]:
    """Read several names; trec_eval's ``P.5,10`` gives two measures, a repeated one counts once.

    Args:
        names: Names, measures, or measure objects of ``ir_measures``.

    Raises:
        UsageError: As :func:`parse_measure`; or if there is no name at all.
    """
    if isinstance(names, str):
        names = [names]
    found: dict[str, Measure] = {}
    for name in names:
        for measure in [name] if isinstance(name, Measure) else _parse(str(name)):
            if isinstance(name, Measure):
                refuse_false_name(measure, _is_standard)
            known = found.setdefault(measure.name, measure)
            if not _same(known, measure):
                raise UsageError(
                    f"two different measures are called {measure.name}",
                    where=f"{type(known).__name__} and {type(measure).__name__}",
                    remedy="give your class another label",
                )
    if not found:
        raise UsageError("no measure was asked for", remedy="name one, such as nDCG@10")
    return list(found.values())


def explain(name: str) -> Definition:
    """What a measure's figures mean: formula, gain, cutoff, denominator, ties, provider.

    Raises:
        UsageError: As :func:`parse_measure`.
    """
    return parse_measure(name).definition


def measure_labels() -> list[str]:
    """Every label this package knows by itself, without those only ``ir_measures`` knows."""
    return [*_FAMILIES, *_OWN, _ONTOLOGY_LABEL, *entry_point_names()]


def _parse(name: str) -> list[Measure]:
    text = name.strip()
    measures = _from_trec_eval(text) or [_from_class(text) or _build(spelled(text), text)]
    for measure in measures:
        refuse_false_name(measure, _is_standard)
        if "".join(text.split()) != measure.name:
            measure.alias = text
    return measures


def _from_trec_eval(text: str) -> list[Measure]:
    """trec_eval's own spellings; an empty list when it is none of them."""
    if text in _TREC_NAMES and text not in TREC_DEFAULTS:
        return [_build(_TREC_NAMES[text], text)]
    if text in TREC_DEFAULTS:
        label = _TREC_CUT_NAMES[text]
        return [_build(Spelled(label, {}, value), text) for value in TREC_DEFAULTS[text]]
    match = _TREC_SPELLING.fullmatch(text)
    if match is None:
        return []
    values = [_number(value, text) for value in match["values"].split(",")]
    if match["name"] in _TREC_CUT_NAMES:
        label = _TREC_CUT_NAMES[match["name"]]
        return [_build(Spelled(label, {}, value), text) for value in values]
    if match["name"] == "set_F":
        return [_build(Spelled("SetF", {"beta": float(value)}), text) for value in values]
    return []


def _is_standard(name: str) -> bool:
    """Whether a reader would take the name for that of a measure everybody knows."""
    label = re.split(r"[(@]", name, maxsplit=1)[0].strip()
    match = _TREC_SPELLING.fullmatch(name)
    known = [*_FAMILIES, *_OWN, _ONTOLOGY_LABEL, *ALIASES, *_TREC_NAMES, *_TREC_CUT_NAMES]
    return (
        label in known
        or label in known_labels()
        or (match is not None and match["name"] in _TREC_CUT_NAMES)
    )


def _same(first: Measure, second: Measure) -> bool:
    """Whether two measures of one name are one measure."""
    parameters = [getattr(measure, "parameters", None) for measure in (first, second)]
    return type(first) is type(second) and parameters[0] == parameters[1]


def _number(value: str, text: str) -> float:
    try:
        return int(value) if value.isdecimal() else float(value)
    except ValueError:
        raise UsageError(
            f"expected numbers behind the name but got {value!r}", where=text
        ) from None


def _from_class(text: str) -> Measure | None:
    """``module:Class``, with parameters and cutoff as usual."""
    match = _CLASS.fullmatch(text)
    if match is None:
        return None
    label, parameters, at = spelled(match["rest"], match["module"] + ":")
    measure_class = load_class(match["module"], label)
    return construct(measure_class, dict(parameters), at)


def _build(parts: Spelled, text: str) -> Measure:
    label, parameters, at = parts
    if label in ALIASES:
        label, parameters = ALIASES[label].label, {**ALIASES[label].parameters, **parameters}
    if label in _FAMILIES:
        return TrecEvalMeasure(_FAMILIES[label], at, **parameters)
    if label in _OWN:
        return _build_own(label, parameters, at)
    if label == _ONTOLOGY_LABEL:
        from trectools_plus.measures.max_ont_sim import MaxOntSim

        return construct(MaxOntSim, dict(parameters), at)
    if label in entry_point_names():
        return construct(load_entry_point(label), dict(parameters), at)
    if label in known_labels():
        return IrMeasure(label, parameters, at)
    raise _unknown(text, label)


def _build_own(label: str, parameters: Mapping[str, Any], at: Any) -> Measure:
    measure_class = _OWN[label]
    unknown = parameters.keys() - measure_class.parameter_defaults.keys()
    if unknown:
        raise UsageError(
            f"{label} has no parameter {', '.join(sorted(unknown))}",
            remedy=f"it takes: {', '.join(measure_class.parameter_defaults) or 'none'}",
        )
    return measure_class(at, **parameters)


def _unknown(text: str, label: str) -> UsageError:
    # Of names that differ in case only, the canonical one is offered.
    in_trec_eval = {*_TREC_NAMES, *_TREC_CUT_NAMES} - {*ALIASES, *measure_labels()}
    names = [*known_labels(), *in_trec_eval, *ALIASES, *measure_labels()]
    lowered = {name.lower(): name for name in names}
    near = difflib.get_close_matches(label.lower(), lowered, 3, 0.5)
    if label.lower() in lowered:
        near = [label.lower()]
    # Parameters and cutoff stay as they were written; trec_eval's names take none this way.
    rest = text.removeprefix(label)
    offered = [f"{name}{'' if name in in_trec_eval else rest}" for name in map(lowered.get, near)]
    return UsageError(
        f"there is no measure {text!r}",
        remedy=f"did you mean {', '.join(offered)}?"
        if near
        else f"there are {', '.join(measure_labels())}",
    )
