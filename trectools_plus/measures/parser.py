"""Parser of measure names.

Canonical names are those of ``ir_measures``: ``Label(parameter=value)@cutoff``. Names of other
tools (``MRR@10``, ``hit_rate@5``, ``ndcg_at_10``), trec_eval's spellings (``ndcg_cut_10``,
``P.5,10``) and users' classes (``module:Class@10``) are accepted too. Case does not matter, except
for users' classes and for values in quotes. The measure's ``alias`` is the name as the user wrote
it.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import Definition, Measure
from trectools_plus.measures.definitions.trec_eval_measures import STANDARD_MEASURES, measures_of
from trectools_plus.text import split_list

BUILTIN = {
    **dict.fromkeys(
        ("APcap", "F1", "MeanRank", "MinRank", "RelRet", "Judged", "ERR", "RBP"), "builtin"
    ),
    "MaxOntSim": "max_ont_sim",
}
"""The module of each measure that this package computes; the class has the name of the label."""

ALIASES: Mapping[str, str] = {
    **{row.trec_name: row.label for row in reversed(STANDARD_MEASURES) if row.trec_name},
    **{row.trec_cut_name: row.label for row in reversed(STANDARD_MEASURES) if row.trec_cut_name},
    **dict.fromkeys(("average_precision", "mean_average_precision"), "AP"),
    **dict.fromkeys(("MRR", "reciprocal_rank", "mean_reciprocal_rank"), "RR"),
    **dict.fromkeys(("HR", "Hit", "hit_rate", "cosine_accuracy", "dot_accuracy"), "HitRate"),
    **dict.fromkeys(("average_position", "avg_position", "averagePosition"), "MeanRank"),
    **dict.fromkeys(("avgPosition", "mean_position", "meanPosition"), "MeanRank"),
    **dict.fromkeys(("minimum_position", "min_position", "minimumPosition"), "MinRank"),
    **dict.fromkeys(("minPosition", "best_position", "bestPosition"), "MinRank"),
    **dict.fromkeys(("inTop", "in_top"), "R"),
    **dict.fromkeys(("R-Prec", "R-Precision"), "Rprec"),
    "Precision": "P",
    "ndcg_burges": "nDCG(dcg='exp-log2')",
}
"""Other spellings of labels. Lookup ignores case."""

PLAIN_NAMES: Mapping[str, str] = {
    "nDCG": "ndcg",
    "AP": "map",
    "APcap": "map_capped",
    "RR": "mrr",
    "P": "precision",
    "R": "recall",
    "Success": "success",
    "HitRate": "hit_rate",
    "Judged": "judged",
    "MaxOntSim": "max_ont_sim",
}
"""The names that the service uses for measures, by label."""


class NameParts(NamedTuple):
    """The parts of a name: label, parameters, and the value after ``@``."""

    label: str
    parameters: Mapping[str, Any]
    at: Any = None


_ALIASES = {name.casefold(): label for name, label in ALIASES.items()}
_HEAD = re.compile(r"[^(@]*")
_LABEL = re.compile(r"\w[\w.-]*")
_WITH_CUTOFFS = re.compile(
    r"(?P<name>[A-Za-z][\w-]*?)(?P<mark>[._]|_at_|(?<=top))(?P<cutoffs>\d+(,\d+)*)", re.IGNORECASE
)
_CLASS = re.compile(r"(?P<module>[^\W\d][\w.]*):(?P<rest>.+)", re.DOTALL)
_NUMBER = re.compile(r"\d[\d.]*")
_RANX_LEVEL = re.compile(r"(?P<name>.+)-l(?P<level>\d+)", re.IGNORECASE)
_BARE_CONSTANT = re.compile(r"(?<==)\s*(true|false|none)\b", re.IGNORECASE)


def measure_labels() -> list[str]:
    """Return all labels except those that only ``ir_measures`` supports."""
    from trectools_plus.measures.providers.user import registered_labels

    return [*(row.label for row in STANDARD_MEASURES), *BUILTIN, *registered_labels()]


def parse_measure(name: str) -> Measure:
    """Parse the name of one measure.

    Args:
        name: A canonical name, an alias, trec_eval's spelling, or ``module:Class``.

    Returns:
        The measure with its parameters.

    Raises:
        UsageError: If there is no such measure (the error lists similar names), a parameter is
            wrong, or the name stands for several measures.
    """
    measures = _parse(name)
    if len(measures) > 1:
        names = ", ".join(measure.name for measure in measures)
        raise UsageError(f"{name} stands for several measures", remedy=f"use one of {names}")
    return measures[0]


def parse_measures(names: Iterable[str | Measure]) -> list[Measure]:
    """Parse several names; trec_eval's ``P.5,10`` are two measures, and repeated ones count once.

    Args:
        names: Names, measures, or measure objects of ``ir_measures``; or one text with names.

    Returns:
        The measures in the order of the names, each once, with the name that was requested first.

    Raises:
        UsageError: As :func:`parse_measure`, or if there is no name.
    """
    if isinstance(names, str):
        names = split_names(names)
    parsed: dict[str, Measure] = {}
    for name in names:
        for measure in [name] if isinstance(name, Measure) else _parse(str(name)):
            _refuse_misleading_name(measure)
            known = parsed.setdefault(measure.name, measure)
            if (type(known), known.parameters) != (type(measure), measure.parameters):
                raise UsageError(
                    f"two different measures are called {measure.name}",
                    where=f"{type(known).__name__} and {type(measure).__name__}",
                    remedy="give your class another label",
                )
    if not parsed:
        raise UsageError("no measure is given", remedy="pass one, for example nDCG@10")
    return list(parsed.values())


def match_name(requested: str, canonical: Mapping[str, str]) -> str | None:
    """Return the label of the measure that a name stands for; ``None`` if there is none.

    Args:
        requested: The label, or any other spelling of the measure.
        canonical: The canonical name of each measure by its label.
    """
    if requested in canonical:
        return requested
    spelled = {requested.casefold()}
    with suppress(UsageError):
        spelled.add(parse_measure(requested).name.casefold())
    return next(
        (
            label
            for label, name in canonical.items()
            if not spelled.isdisjoint((label.casefold(), name.casefold()))
        ),
        None,
    )


def explain(name: str) -> Definition:
    """Return a measure's definition: formula, gain, cutoff, denominator, ties, provider.

    Args:
        name: The measure, for example ``nDCG@10``.

    Raises:
        UsageError: As :func:`parse_measure`.
    """
    return parse_measure(name).definition


def split_names(text: str) -> list[str]:
    """Split a list of measure names, with commas or spaces between them.

    A number alone belongs to the name before it: ``P.5,10,map`` is ``P.5,10`` and ``map``.
    """
    names: list[str] = []
    for part in split_list(text, at_spaces=True):
        if names and _NUMBER.fullmatch(part):
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names


def _parse(name: str) -> list[Measure]:
    """Parse a name; trec_eval's and ranx's ``P.5,10`` is a measure for each cutoff."""
    text = name.strip()
    match = _WITH_CUTOFFS.fullmatch(text)
    if match is not None and _standard_label(match["name"]) is not None:
        begin = f"{match['name']}{match['mark']}"
        named = [
            (f"{begin}{cutoff}", _construct(NameParts(match["name"], {}, int(cutoff)), text))
            for cutoff in match["cutoffs"].split(",")
        ]
    else:
        named = [(text, _from_label(text))]
    for typed, measure in named:
        _refuse_misleading_name(measure)
        if "".join(typed.split()) != measure.name:
            measure.alias = typed
    return [measure for _, measure in named]


def _standard_label(label: str) -> str | None:
    """Return the label of a measure of trec_eval or this package, also as a parametrised alias."""
    labels = (*(row.label for row in STANDARD_MEASURES), *BUILTIN)
    return _ALIASES.get(label.casefold()) or _match_case(label, labels)


def _match_case(label: str, labels: Iterable[str]) -> str | None:
    """Return a label as the list spells it; ``None`` if it is not there in any case."""
    spellings = [spelling for spelling in labels if spelling.casefold() == label.casefold()]
    return label if label in spellings else next(iter(spellings), None)


def _from_label(text: str) -> Measure:
    """Parse ``Label(parameter=value)@cutoff``, or the same with ``module:Class``."""
    level = _RANX_LEVEL.fullmatch(text)
    if level is not None:
        return _from_label(level["name"]).at_level(int(level["level"]))
    match = _CLASS.fullmatch(text)
    if match is None:
        return _construct(_parse_parts(text), text)
    from trectools_plus.measures.providers.user import construct, load_class

    label, parameters, at = _parse_parts(match["rest"])
    return construct(load_class(f"{match['module']}:{label}"), parameters, at)


def _construct(parts: NameParts, text: str) -> Measure:
    """Construct the measure with a label, or suggest others."""
    from trectools_plus.measures.providers import libraries, user

    label, parameters, at = parts
    known = _standard_label(label)
    if known is not None:
        label, implied, _ = _parse_parts(known)
        parameters = {**implied, **parameters}
        if label not in BUILTIN:
            row = libraries.STANDARD[label]
            if label == "IPrec":
                return user.construct(libraries.IPrec, parameters, None, row, at)
            return user.construct(libraries.TrecEvalMeasure, parameters, at, row)
        module = import_module(f"trectools_plus.measures.definitions.{BUILTIN[label]}")
        measure: type[Measure] = getattr(module, label)
        return user.construct(measure, parameters, at)
    if (registered := _match_case(label, user.registered_labels())) is not None:
        return user.construct(user.load_class(registered), parameters, at)
    if (of_library := _match_case(label, libraries.ir_measures_labels())) is not None:
        return libraries.IrMeasure(of_library, parameters, at)
    raise UsageError(f"there is no measure {text!r}", remedy=_suggest(label, text))


def _suggest(label: str, text: str) -> str:
    """Return the command that computes a measure, or similar names."""
    from trectools_plus.measures.providers.libraries import IN_TREC_EVAL, ir_measures_labels

    of_library = _match_case(label, IN_TREC_EVAL)
    name = IN_TREC_EVAL[of_library] if of_library else re.sub(r"[._]\d.*", "", label)
    if (in_trec_eval := measures_of(10).get(name)) is not None:
        version = " --trec-eval-version 10" if in_trec_eval.since == 10 else ""
        shown = label if label.startswith(f"{name}.") else name
        return f"`trectools-plus trec-eval{version} -m {shown} QRELS RUN` computes it"
    names = (*ir_measures_labels(), *ALIASES, *measure_labels())
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(label.casefold(), folded, 3, 0.5)
    offered = ", ".join(folded[key] + text[len(label) :] for key in near)
    return f"did you mean {offered}?" if near else f"supported: {', '.join(measure_labels())}"


def _refuse_misleading_name(measure: Measure) -> None:
    """Refuse a user's measure whose name would mislead readers of its figures.

    Built-in measures are not checked.

    Raises:
        UsageError: If its name is not a printable string, is that of a standard measure, or does
            not end with its cutoff.
    """
    measure_class = type(measure)
    if measure_class.__module__.startswith("trectools_plus."):
        return
    from trectools_plus.measures.providers.user import named_errors

    where = f"{measure_class.__module__}:{measure_class.__qualname__}"
    with named_errors(f"name of {where}"):
        name = measure.name
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        problem = "is not a printable string"
    elif _is_standard_name(name):
        problem = "is the name of a standard measure"
    elif measure.cutoff is not None and not name.endswith(f"@{measure.cutoff}"):
        problem = f"does not end with the cutoff @{measure.cutoff}"
    else:
        return
    raise UsageError(
        f"the name {name!r} {problem}", where=where, remedy="give your class another label"
    )


def _is_standard_name(name: str) -> bool:
    """Return whether readers would think that the name is that of a standard measure."""
    from trectools_plus.measures.providers.libraries import ir_measures_labels

    label = _HEAD.match(name)[0].strip()  # type: ignore[index]
    match = _WITH_CUTOFFS.fullmatch(name)
    labels = [label] if match is None else [label, match["name"]]
    is_known = any(map(_standard_label, labels))
    return is_known or _match_case(label, ir_measures_labels()) is not None


def _parse_parts(text: str) -> NameParts:
    """Split ``Label(parameter=value)@at`` into its parts.

    Raises:
        UsageError: If the name does not have this form.
    """
    label = _HEAD.match(text)[0]  # type: ignore[index]
    # A hyphen, as in R-Precision, would be a subtraction.
    expression = "x" + _BARE_CONSTANT.sub(lambda match: match[1].title(), text[len(label) :])
    with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        node: ast.expr = ast.parse(expression, mode="eval").body
        at, keywords = None, list[ast.keyword]()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            at, node = ast.literal_eval(node.right), node.left
        if isinstance(node, ast.Call) and not node.args:
            keywords, node = node.keywords, node.func
        parameters = {keyword.arg or "**": ast.literal_eval(keyword.value) for keyword in keywords}
        is_once = len({name.casefold() for name in parameters}) == len(keywords)
        if isinstance(node, ast.Name) and is_once and _LABEL.fullmatch(label.strip()):
            return NameParts(label.strip(), parameters, at)
    raise UsageError(
        f"cannot read the measure name {text!r}"[:200],
        remedy="write it as Label@10 or Label(parameter='text')@10",
    )
