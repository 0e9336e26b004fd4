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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain
from typing import Any, NamedTuple

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import Definition, Measure, Provider
from trectools_plus.measures.definitions.trec_eval_measures import (
    STANDARD_MEASURES,
    measures_of,
    sets_of,
)
from trectools_plus.text import split_list

USER, IR_MEASURES = "user", "ir_measures"
BUILTIN = ("standard", "builtin")
PROVIDERS = (*BUILTIN, USER, IR_MEASURES)
"""The modules of all providers."""


def load_provider(name: str) -> Provider:
    """Import a provider; most commands need only that of the standard measures."""
    found: Provider = import_module(f"trectools_plus.measures.providers.{name}").PROVIDER
    return found


def construct_measure(label: str, parameters: Mapping[str, Any], at: Any) -> Measure | None:
    """Construct the measure with a label.

    Args:
        label: The name without parameters and cutoff, in any case.
        parameters: The values in brackets.
        at: The value after ``@``; ``None`` without one.

    Returns:
        The measure; ``None`` if no provider supports the label.

    Raises:
        UsageError: If a parameter is unknown or out of range, or installed packages define two
            measures that the label may stand for.
    """
    for provider in PROVIDERS:
        canonical = find_label(label, (provider,))
        if canonical is not None:
            return load_provider(provider).construct(canonical, parameters, at)
    return None


def find_label(label: str, providers: Sequence[str] = PROVIDERS) -> str | None:
    """Return a label as its provider writes it; ``None`` if no provider supports it.

    Args:
        label: The label, in any case.
        providers: The providers to search, in this order.

    Raises:
        UsageError: If two labels of a provider differ only in case, and neither is the given one.
    """
    for provider in providers:
        found = []
        for one in load_provider(provider).labels():
            if one == label:
                return label
            if one.casefold() == label.casefold():
                found.append(one)
        if len(found) > 1:
            raise UsageError(
                f"{label} stands for several measures", remedy=f"use one of {', '.join(found)}"
            )
        if found:
            return found[0]
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

    for measure in chain(STANDARD_MEASURES, iter_measures()):
        if measure.label == label:
            return measure.plain_name
    return None


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
_ACROSS_LANGUAGES = (
    "{text} is a figure of several languages, not a measure of a run",
    "use benchmark multilingual; its report has this figure",
)
_NO_MEASURES = {
    "hits": (
        "{text!r} means different measures in different tools",
        "use HitRate{rest} (1 if there is a relevant document), or RelRet{rest} (their number)",
    ),
    "average_mrr": _ACROSS_LANGUAGES,
    "cross_lingual_variance": _ACROSS_LANGUAGES,
}
"""Names that are not measures, in lower case, with the message and the remedy of the error."""


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
_RANX_LEVEL = re.compile(r"(?P<name>.+)-l(?P<level>\d+)", re.IGNORECASE)
_BARE_CONSTANT = re.compile(r"(?<==)\s*(true|false|none)\b", re.IGNORECASE)
_BARE_TEXT = re.compile(r"""(?<=[(,])(\s*\w+\s*=\s*)([^\s,()'"={}\[\]]+)(?=\s*[,)])""")


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
            if isinstance(name, Measure):
                _refuse_misleading_name(measure)
            known = found.setdefault(measure.name, measure)
            if known.requested_name != measure.requested_name:
                further = (*known.further_aliases, measure.requested_name)
                known = copy.copy(known)
                known.further_aliases = tuple(dict.fromkeys(further))
                found[measure.name] = known
            parameters = [getattr(one, "parameters", None) for one in (known, measure)]
            if type(known) is not type(measure) or parameters[0] != parameters[1]:
                raise UsageError(
                    f"two different measures are called {measure.name}",
                    where=f"{type(known).__name__} and {type(measure).__name__}",
                    remedy="give your class another label",
                )
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
    for label, name in canonical.items():
        if requested.casefold() in (label.casefold(), name.casefold()):
            return label
    try:
        meant = parse_measure(requested).name
    except UsageError:
        return None
    return next((label for label, name in canonical.items() if name == meant), None)


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
    if text.casefold() in ("official", "all_trec"):
        return _measures_of_set(text.casefold())
    own = _from_class(text)
    named = [(text, own)] if own is not None else _from_name(text)
    for typed, measure in named:
        _refuse_misleading_name(measure)
        if "".join(typed.split()) != measure.name:
            measure.alias = typed
    return [measure for _, measure in named]


def _measures_of_set(name: str) -> list[Measure]:
    """Return the measures of a set of trec_eval that are measures here too, means first."""
    found: list[Measure] = []
    table = measures_of(9)
    for one in sets_of(9)[name]:
        if one.casefold() not in _ALIASES and find_label(one, BUILTIN) is None:
            continue
        names = [one]
        if table[one].takes in ("cutoffs", "points"):
            decimals = 2 if table[one].takes == "points" else 0
            names = [f"{one}_{value:.{decimals}f}" for value in table[one].defaults]
        for printed in names:
            found += _parse(printed)
    return sorted(found, key=lambda measure: measure.aggregate == "sum")


def _from_name(text: str) -> list[tuple[str, Measure]]:
    """Parse a name that is not that of a class.

    Returns:
        The measures, each with the name that was given for it: trec_eval's ``P.5,10`` are the
        measures ``P.5`` and ``P.10``.
    """
    label = _HEAD.match(text)[0].strip()  # type: ignore[index]
    alias = _ALIASES.get(label.casefold())
    if alias is not None and alias.values and label == text:
        shown = (f"{value:.2f}" if alias.label == "IPrec" else value for value in alias.values)
        pairs = zip(shown, alias.values, strict=True)
        return [(f"{text}_{one}", _bind(alias, value, text)) for one, value in pairs]
    match = _WITH_VALUES.fullmatch(text)
    if alias is None and match is not None and not _is_label(label, match["name"]):
        alias = _alias_with_values(match)
        if alias is not None:
            return [
                (f"{match['name']}{match['mark']}{one}", _bind(alias, _number(one, text), text))
                for one in match["values"].split(",")
            ]
        _refuse_trec_eval_only(text, match["name"])
    _refuse_trec_eval_only(text, label)
    with_level = _RANX_LEVEL.fullmatch(text)
    if with_level is not None:
        parts = _parse_parts(with_level["name"])
        rel = {"rel": int(with_level["level"])}
        return [(text, _build(parts._replace(parameters={**parts.parameters, **rel}), text))]
    return [(text, _build(_parse_parts(text), text))]


def _is_label(text: str, name: str) -> bool:
    """Return whether a name that ends in a value, for example ``P_10``, is a label as a whole.

    After an alias, only users' labels can be: the other libraries, which are slow to import, have
    no such labels.
    """
    providers = (USER,) if name.casefold() in _ALIASES else PROVIDERS
    return find_label(text, providers) is not None


def _refuse_trec_eval_only(text: str, name: str) -> None:
    if name in measures_of(10) and name.casefold() not in _ALIASES:
        if find_label(name) is not None:
            return
        measure = measures_of(10)[name]
        takes_values = measure.takes in ("cutoffs", "points") or text.startswith(f"{name}.")
        values = text.removeprefix(name).lstrip("._@") if takes_values else ""
        request = f"{name}.{values}" if values else name
        version = " --trec-eval-version 10" if measure.since == 10 else ""
        raise UsageError(
            f"there is no measure {text!r}",
            remedy=f"`trectools-plus trec-eval{version} -m {request} QRELS RUN` computes {request}",
        )


def _alias_with_values(match: re.Match[str]) -> Alias | None:
    """Return the meaning of the name before the values; ``None`` if it takes none."""
    label = match["name"]
    if label.casefold() == "rbp":
        return _PERSISTENCE
    alias = _ALIASES.get(label.casefold())
    if alias is None:
        canonical = find_label(label, BUILTIN)
        return None if canonical is None else Alias(canonical)
    return alias


def _bind(alias: Alias, value: float, text: str) -> Measure:
    """Construct a measure with a value after a dot or an underscore."""
    if alias.values_bind == "@":
        return _build(NameParts(alias.label, alias.parameters, value), text)
    if alias.values_bind == "p" and value >= 1:  # rbp.95 is p = 0.95
        value = float(f"0.{value:.0f}")
    parameters = {**alias.parameters, alias.values_bind: float(value)}
    return _build(NameParts(alias.label, parameters), text)


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
        raise UsageError(
            f"expected a name but got {name!r}", where=where, remedy="return a printable string"
        )
    if is_standard_name(name):
        raise UsageError(
            f"{name} is the name of a standard measure",
            where=where,
            remedy="give your class another label",
        )
    if measure.cutoff is not None and not name.endswith(f"@{measure.cutoff}"):
        raise UsageError(
            f"the name {name} does not contain the cutoff {measure.cutoff}",
            where=where,
            remedy=f"let it end with @{measure.cutoff}, or set label and do not override name",
        )


def is_standard_name(name: str) -> bool:
    """Return whether readers would think that the name is that of a standard measure."""
    label = _HEAD.match(name)[0].strip()  # type: ignore[index]
    match = _WITH_VALUES.fullmatch(name)
    providers = (*BUILTIN, IR_MEASURES)
    return (
        label.casefold() in _ALIASES
        or find_label(label, providers) is not None
        or (match is not None and _alias_with_values(match) is not None)
    )


def _number(value: str, text: str) -> float:
    try:
        return int(value) if value.isdecimal() else float(value)
    except ValueError:
        raise UsageError(
            f"expected numbers after the name but got {value!r}",
            where=text,
            remedy="for example P.5,10",
        ) from None


def _from_class(text: str) -> Measure | None:
    """Parse ``module:Class``, with parameters and cutoff as in other names."""
    match = _CLASS.fullmatch(text)
    if match is None:
        return None
    from trectools_plus.measures.providers.user import construct, load_class

    label, parameters, at = _parse_parts(match["rest"], match["module"] + ":")
    return construct(load_class(match["module"], label), parameters, at)


def _build(parts: NameParts, text: str) -> Measure:
    label, parameters, at = parts
    alias = _ALIASES.get(label.casefold())
    if alias is not None:
        label, parameters = alias.label, {**alias.parameters, **parameters}
    measure = construct_measure(label, parameters, at)
    if measure is None:
        raise _unknown(text, label)
    return measure


def _unknown(text: str, label: str) -> UsageError:
    # Suggestions contain the parameters and the cutoff, except trec_eval's names.
    rest = text[len(label) :]
    if label.casefold() in _NO_MEASURES:
        message, remedy = _NO_MEASURES[label.casefold()]
        return UsageError(message.format(text=text), remedy=remedy.format(rest=rest))
    labels = measure_labels()
    in_trec_eval = {name for name, one in ALIASES.items() if one.trec_eval} - {*labels}
    common = [name for name, one in ALIASES.items() if not one.trec_eval]
    names = [*ir_measures_labels(), *in_trec_eval, *common, *labels]
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(label.casefold(), folded, 3, 0.5)
    offered = [f"{name}{'' if name in in_trec_eval else rest}" for name in map(folded.get, near)]
    return UsageError(
        f"there is no measure {text!r}",
        remedy=f"did you mean {', '.join(offered)}?" if near else f"supported: {', '.join(labels)}",
    )


def _parse_parts(text: str, prefix: str = "") -> NameParts:
    """Split ``Label(parameter=value)@at`` into its parts.

    Args:
        text: The name.
        prefix: The text before it, for the error message.

    Raises:
        UsageError: If the name does not have this form.
    """
    found = _read(text)
    if found is None:
        raise UsageError(
            f"cannot read the measure name {prefix}{text!r}"[:200], remedy=_remedy(text, prefix)
        )
    return found


def _read(text: str) -> NameParts | None:
    label = _HEAD.match(text)[0]  # type: ignore[index]
    if not _LABEL.fullmatch(label.strip()):
        return None
    # A hyphen, as in R-Precision, would be a subtraction.
    expression = "x" + _BARE_CONSTANT.sub(lambda one: one[1].title(), text[len(label) :])
    try:
        node: ast.expr = ast.parse(expression, mode="eval").body
        at = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            at = ast.literal_eval(node.right)
            node = node.left
        parameters: dict[str, Any] = {}
        if isinstance(node, ast.Call) and not node.args:
            for keyword in node.keywords:
                parameters[keyword.arg or "**"] = ast.literal_eval(keyword.value)
            if len({name.casefold() for name in parameters}) < len(node.keywords):
                return None
            node = node.func
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return NameParts(label.strip(), parameters, at) if isinstance(node, ast.Name) else None


def _remedy(text: str, prefix: str) -> str:
    """Return the remedy; if only quotes are missing, the name with quotes."""
    quoted = _BARE_TEXT.sub(_quote, text)
    if quoted != text and _read(quoted):
        return f"text values need quotes: {prefix}{quoted}"
    return "write it as Label@10 or Label(parameter=value)@10"


def _quote(match: re.Match[str]) -> str:
    try:
        ast.literal_eval(match[2])
    except (ValueError, SyntaxError):
        return f"{match[1]}{match[2]!r}"
    return match[0]
