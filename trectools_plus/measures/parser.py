"""Parser of measure names.

Canonical names are those of ``ir_measures``: ``Label(parameter=value)@cutoff``. Names of other
tools (``MRR@10``, ``hit_rate@5``, ``ndcg_at_10``), trec_eval's spellings (``ndcg_cut_10``,
``P.5,10``) and users' classes (``module:Class@10``) are accepted too. Case does not matter, except
for users' classes and for values in quotes. The measure's ``alias`` is the name as the user wrote
it.
"""

from __future__ import annotations

import ast
import copy
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain
from typing import Any, NamedTuple

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import Definition, Measure, Provider
from trectools_plus.measures.definitions.trec_eval_measures import (
    STANDARD_MEASURES,
    measures_of,
)
from trectools_plus.plugins import without_user_code
from trectools_plus.text import split_list

USER, IR_MEASURES = "user", "ir_measures"
BUILTIN = ("standard", "builtin")
PROVIDERS = (*BUILTIN, USER, IR_MEASURES)
"""The modules of all providers."""

_STORED: ContextVar[Mapping[str, Measure] | None] = ContextVar("stored", default=None)


@contextmanager
def of_a_report(stored: Mapping[str, Measure]) -> Iterator[None]:
    """Parse the names in a report: import no code, and read no file that a name contains.

    Args:
        stored: The measures that are not computed again, by each of their names.
    """
    token = _STORED.set(stored)
    try:
        with without_user_code():
            yield
    finally:
        _STORED.reset(token)


def load_provider(name: str) -> Provider:
    """Import a provider; most commands need only that of the standard measures."""
    found: Provider = import_module(f"trectools_plus.measures.providers.{name}").PROVIDER
    return found


def find_label(label: str, providers: Sequence[str] = PROVIDERS) -> str | None:
    """Return a label as its provider writes it; ``None`` if no provider supports it.

    Args:
        label: The label, in any case.
        providers: The providers to search, in this order.

    Raises:
        UsageError: If two labels of a provider differ only in case, and neither is the given one.
    """
    for provider in providers:
        candidates = []
        for one in load_provider(provider).labels():
            if one == label:
                return label
            if one.casefold() == label.casefold():
                candidates.append(one)
        if len(candidates) > 1:
            raise UsageError(
                f"{label} stands for several measures", remedy=f"use one of {', '.join(candidates)}"
            )
        if candidates:
            return candidates[0]
    return None


def builtin_labels() -> list[str]:
    """Return the labels of the measures of pytrec_eval and of this package."""
    return [label for provider in BUILTIN for label in load_provider(provider).labels()]


def measure_labels() -> list[str]:
    """Return all labels except those that only ``ir_measures`` supports."""
    return [*builtin_labels(), *load_provider(USER).labels()]


def ir_measures_labels() -> list[str]:
    """Return every label in the registry of ``ir_measures``."""
    return [*load_provider(IR_MEASURES).labels()]


def plain_name(label: str) -> str | None:
    """Return the name that the service uses for a measure; ``None`` for the canonical name."""
    from trectools_plus.measures.providers.builtin import iter_measures

    measures = chain(STANDARD_MEASURES, iter_measures())
    return next((one.plain_name for one in measures if one.label == label), None)


@dataclass(frozen=True, slots=True)
class Alias:
    """Another spelling of a measure.

    Attributes:
        label: The canonical label.
        parameters: The parameters that it sets.
        trec_eval: Whether it is trec_eval's name.
        values_bind: The parameter that a value after a dot or an underscore sets, as in
            ``recall.5,10``, or ``@`` for the cutoff.
        values: The values without any: ``success`` is ``success.1,5,10``.
    """

    label: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    trec_eval: bool = False
    values_bind: str = "@"
    values: tuple[float, ...] = ()


def _trec_eval_aliases() -> dict[str, Alias]:
    """Return trec_eval's names of the standard measures."""
    table = measures_of(9)
    labels = {one.label for one in STANDARD_MEASURES}
    found: dict[str, Alias] = {}
    for one in STANDARD_MEASURES:
        for name in (one.trec_name, one.trec_cut_name):
            if name is None or name in found:
                continue
            # P is also a canonical label, so without a cutoff it is an error.
            takes = table[name].takes in ("cutoffs", "points") and name not in labels
            found[name] = Alias(one.label, {}, True, values=table[name].defaults if takes else ())
    found["set_F"] = Alias("SetF", {}, True, "beta")
    found["set_relative_P"] = Alias("SetP", {"relative": True}, True)
    found["num_rel_ret"] = Alias("NumRet", {"rel": 1}, True)
    return found


ALIASES: Mapping[str, Alias] = {
    "average_precision": Alias("AP"),
    "mean_average_precision": Alias("AP"),
    "MRR": Alias("RR"),
    "reciprocal_rank": Alias("RR"),
    "mean_reciprocal_rank": Alias("RR"),
    "Precision": Alias("P"),
    "HR": Alias("HitRate"),
    "Hit": Alias("HitRate"),
    "hit_rate": Alias("HitRate"),
    **dict.fromkeys(("cosine_accuracy", "dot_accuracy"), Alias("HitRate")),
    **dict.fromkeys(("average_position", "avg_position", "mean_position"), Alias("MeanRank")),
    **dict.fromkeys(("averagePosition", "avgPosition", "meanPosition"), Alias("MeanRank")),
    **dict.fromkeys(("minimum_position", "min_position", "best_position"), Alias("MinRank")),
    **dict.fromkeys(("minimumPosition", "minPosition", "bestPosition"), Alias("MinRank")),
    **dict.fromkeys(("inTop", "in_top"), Alias("R")),
    "R-Prec": Alias("Rprec"),
    "R-Precision": Alias("Rprec"),
    "ndcg_burges": Alias("nDCG", {"dcg": "exp-log2"}),
    "dcg_burges": Alias("DCG", {"dcg": "exp-log2"}),
    "SetRelP": Alias("SetP", {"relative": True}),
    "NumRelRet": Alias("NumRet", {"rel": 1}),
    **_trec_eval_aliases(),
}
"""Other spellings of labels. Lookup ignores case."""

_PERSISTENCE = Alias("RBP", {"rel": 1}, values_bind="p")
"""ranx's ``rbp.95``; trec_eval 10's ``rbp`` is graded, as ``RBP`` without ``rel``."""


class NameParts(NamedTuple):
    """The parts of a name: label, parameters, and the value after ``@``."""

    label: str
    parameters: Mapping[str, Any]
    at: Any = None


_ALIASES = {name.casefold(): alias for name, alias in ALIASES.items()}
_HEAD = re.compile(r"[^(@]*")
_LABEL = re.compile(r"[^\W\d][\w-]*")
_WITH_VALUES = re.compile(
    r"(?P<name>[A-Za-z][\w-]*?)(?P<mark>[._]|_at_|(?<=top))(?P<values>\d[\d.,]*)", re.IGNORECASE
)
_CLASS = re.compile(r"(?P<module>[^\W\d][\w.]*):(?P<rest>.+)", re.DOTALL)
_NUMBER = re.compile(r"\d[\d.]*")
_BARE_CONSTANT = re.compile(r"(?<==)\s*(true|false|none)\b", re.IGNORECASE)


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
    found: dict[str, Measure] = {}
    for name in names:
        for measure in [name] if isinstance(name, Measure) else _parse(str(name)):
            _refuse_misleading_name(measure)
            known = found.setdefault(measure.name, measure)
            kinds = [(type(one), getattr(one, "parameters", None)) for one in (known, measure)]
            if kinds[0] != kinds[1]:
                raise UsageError(
                    f"two different measures are called {measure.name}",
                    where=f"{type(known).__name__} and {type(measure).__name__}",
                    remedy="give your class another label",
                )
            if known.requested_name != measure.requested_name:
                further = (*known.further_aliases, measure.requested_name)
                found[measure.name] = known = copy.copy(known)
                known.further_aliases = tuple(dict.fromkeys(further))
    if not found:
        raise UsageError("no measure is given", remedy="pass one, for example nDCG@10")
    return list(found.values())


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
    text = name.strip()
    stored = (_STORED.get() or {}).get(text)
    if stored is not None:
        return [copy.copy(stored)]
    named = _from_values(text) or [(text, _from_label(text))]
    for typed, measure in named:
        _refuse_misleading_name(measure)
        if "".join(typed.split()) != measure.name:
            measure.alias = typed
    return [measure for _, measure in named]


def _from_values(text: str) -> list[tuple[str, Measure]]:
    """Parse names with values, as trec_eval and ranx write them: ``P.5,10``, ``rbp.95``.

    Returns:
        A measure for each value, with its part of the name; none for other names.
    """
    alias, match = _ALIASES.get(text.casefold()), _WITH_VALUES.fullmatch(text)
    if alias is not None:
        decimals = ".2f" if alias.label == "IPrec" else ""
        values = {f"{text}_{value:{decimals}}": value for value in alias.values}
    elif match is not None and (alias := _alias_with_values(match["name"])) is not None:
        begin = f"{match['name']}{match['mark']}"
        values = {f"{begin}{one}": _number(one, text) for one in match["values"].split(",")}
    else:
        return []
    measures = []
    for typed, value in values.items():
        bound, at = dict(alias.parameters), None
        if alias.values_bind == "@":
            at = value
        elif alias.values_bind == "p" and value >= 1:  # rbp.95 is p = 0.95
            bound["p"] = float(f"0.{value:.0f}")
        else:
            bound[alias.values_bind] = float(value)
        measures.append((typed, _construct(alias.label, bound, at, text)))
    return measures


def _alias_with_values(label: str) -> Alias | None:
    """Return the meaning of the name before the values; ``None`` if it takes none."""
    if label.casefold() == "rbp":
        return _PERSISTENCE
    canonical = find_label(label, BUILTIN)
    return _ALIASES.get(label.casefold(), None if canonical is None else Alias(canonical))


def _number(value: str, text: str) -> float:
    try:
        return int(value) if value.isdecimal() else float(value)
    except ValueError:
        raise UsageError(
            f"expected numbers after the name but got {value!r}", where=text, remedy="write P.5,10"
        ) from None


def _from_label(text: str) -> Measure:
    """Parse ``Label(parameter=value)@cutoff``, or the same with ``module:Class``."""
    match = _CLASS.fullmatch(text)
    if match is None:
        return _construct(*_parse_parts(text), text)
    from trectools_plus.measures.providers.user import construct, load_class

    label, parameters, at = _parse_parts(match["rest"])
    return construct(load_class(match["module"], label), parameters, at)


def _construct(label: str, parameters: Mapping[str, Any], at: Any, text: str) -> Measure:
    """Construct the measure with a label, or suggest others."""
    alias = _ALIASES.get(label.casefold())
    if alias is not None:
        label, parameters = alias.label, {**alias.parameters, **parameters}
    for provider in PROVIDERS:
        canonical = find_label(label, (provider,))
        if canonical is not None:
            return load_provider(provider).construct(canonical, parameters, at)
    match = _WITH_VALUES.fullmatch(text)
    in_trec_eval = measures_of(10).get(label if match is None else match["name"])
    if in_trec_eval is not None:
        version = " --trec-eval-version 10" if in_trec_eval.since == 10 else ""
        cut = f".{at}" if at is not None and in_trec_eval.takes == "cutoffs" else ""
        name = f"{label}{cut}" if match is None else text
        remedy = f"`trectools-plus trec-eval{version} -m {name} QRELS RUN` computes it"
    else:
        common = [name for name, one in ALIASES.items() if not one.trec_eval]
        names = (*ir_measures_labels(), *common, *measure_labels())
        folded = {name.casefold(): name for name in names}
        near = difflib.get_close_matches(label.casefold(), folded, 3, 0.5)
        offered = ", ".join(folded[name] + text[len(label) :] for name in near)
        remedy = f"did you mean {offered}?" if near else f"supported: {', '.join(measure_labels())}"
    raise UsageError(f"there is no measure {text!r}", remedy=remedy)


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
    problem = None
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        problem = "is not a printable string"
    elif is_standard_name(name):
        problem = "is the name of a standard measure"
    elif measure.cutoff is not None and not name.endswith(f"@{measure.cutoff}"):
        problem = f"does not end with the cutoff @{measure.cutoff}"
    if problem is not None:
        raise UsageError(
            f"the name {name!r} {problem}", where=where, remedy="give your class another label"
        )


def is_standard_name(name: str) -> bool:
    """Return whether readers would think that the name is that of a standard measure."""
    label = _HEAD.match(name)[0].strip()  # type: ignore[index]
    match = _WITH_VALUES.fullmatch(name)
    return (
        label.casefold() in _ALIASES
        or find_label(label, (*BUILTIN, IR_MEASURES)) is not None
        or (match is not None and _alias_with_values(match["name"]) is not None)
    )


def _parse_parts(text: str) -> NameParts:
    """Split ``Label(parameter=value)@at`` into its parts.

    Raises:
        UsageError: If the name does not have this form.
    """
    label = _HEAD.match(text)[0]  # type: ignore[index]
    # A hyphen, as in R-Precision, would be a subtraction.
    expression = "x" + _BARE_CONSTANT.sub(lambda one: one[1].title(), text[len(label) :])
    with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        node: ast.expr = ast.parse(expression, mode="eval").body
        at, keywords = None, list[ast.keyword]()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            at, node = ast.literal_eval(node.right), node.left
        if isinstance(node, ast.Call) and not node.args:
            keywords, node = node.keywords, node.func
        parameters = {one.arg or "**": ast.literal_eval(one.value) for one in keywords}
        is_once = len({name.casefold() for name in parameters}) == len(keywords)
        if isinstance(node, ast.Name) and is_once and _LABEL.fullmatch(label.strip()):
            return NameParts(label.strip(), parameters, at)
    raise UsageError(
        f"cannot read the measure name {text!r}"[:200],
        remedy="write it as Label@10 or Label(parameter='text')@10",
    )
