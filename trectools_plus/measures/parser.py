"""Parser of measure names.

Canonical names are those of ``ir_measures``: ``Label(parameter=value)@cutoff``. Common aliases
(``MRR@10``), trec_eval's spellings (``ndcg_cut_10``, ``P.5,10``) and users' classes
(``module:Class@10``) are accepted too; the measure's ``alias`` is the name as the user wrote it.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from trectools_plus.errors import UsageError
from trectools_plus.measures import registry
from trectools_plus.measures.definitions.base import Definition, Measure
from trectools_plus.measures.definitions.trec_eval_measures import (
    STANDARD_MEASURES,
    measures_of,
)
from trectools_plus.measures.providers.user import construct, load_class, refuse_misleading_name
from trectools_plus.text import split_list


@dataclass(frozen=True, slots=True)
class Alias:
    """Another spelling of a measure.

    Attributes:
        label: The canonical label.
        parameters: The parameters that it sets.
        trec_eval: Whether it is trec_eval's spelling, which takes no brackets, and values after a
            dot or an underscore, as in ``recall.5,10``.
        values_bind: The parameter that a value in trec_eval's spelling sets, or ``@`` for the
            cutoff; ``None`` if it takes no values.
        values: The default values.
    """

    label: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    trec_eval: bool = False
    values_bind: str | None = None
    values: tuple[float, ...] = ()


def _trec_eval_aliases() -> dict[str, Alias]:
    """Return trec_eval's spellings of the standard measures."""
    table = measures_of(9)
    labels = {one.label for one in STANDARD_MEASURES}
    found: dict[str, Alias] = {}
    for one in STANDARD_MEASURES:
        for name in (one.trec_name, one.trec_cut_name):
            if name is None or name in found:
                continue
            takes = table[name].takes in ("cutoffs", "points")
            # P is also a canonical label, so without a cutoff it is an error.
            values = table[name].defaults if takes and name not in labels else ()
            found[name] = Alias(one.label, {}, True, "@" if takes else None, values)
    found["set_F"] = Alias("SetF", {}, True, "beta")
    found["set_relative_P"] = Alias("SetP", {"relative": True}, True)
    found["num_rel_ret"] = Alias("NumRet", {"rel": 1}, True)
    return found


ALIASES: Mapping[str, Alias] = {
    "NDCG": Alias("nDCG"),
    "MAP": Alias("AP"),
    "MRR": Alias("RR"),
    "Recall": Alias("R"),
    "Precision": Alias("P"),
    "HR": Alias("HitRate"),
    "Hit": Alias("HitRate"),
    "RPrec": Alias("Rprec"),
    "BPref": Alias("Bpref"),
    "SetRelP": Alias("SetP", {"relative": True}),
    "NumRelRet": Alias("NumRet", {"rel": 1}),
    **_trec_eval_aliases(),
}
"""Alternative spellings of labels."""


class NameParts(NamedTuple):
    """The parts of a name: label, parameters, and the value after ``@``."""

    label: str
    parameters: Mapping[str, Any]
    at: Any = None


_TREC_SPELLING = re.compile(r"(?P<name>[A-Za-z]\w*?)[._](?P<values>\d[\d.,]*)")
_CLASS = re.compile(r"(?P<module>[^\W\d][\w.]*):(?P<rest>.+)", re.DOTALL)
_NUMBER = re.compile(r"\d[\d.]*")
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
        names: Names, measures, or measure objects of ``ir_measures``.

    Returns:
        The measures in the order of the names, each once.

    Raises:
        UsageError: As :func:`parse_measure`, or if there is no name.
    """
    if isinstance(names, str):
        names = [names]
    found: dict[str, Measure] = {}
    for name in names:
        for measure in [name] if isinstance(name, Measure) else _parse(str(name)):
            if isinstance(name, Measure):
                refuse_misleading_name(measure, _is_standard)
            known = found.setdefault(measure.name, measure)
            if not _same(known, measure):
                raise UsageError(
                    f"two different measures are called {measure.name}",
                    where=f"{type(known).__name__} and {type(measure).__name__}",
                    remedy="give your class another label",
                )
    if not found:
        raise UsageError("no measure is given", remedy="pass one, for example nDCG@10")
    return list(found.values())


def explain(name: str) -> Definition:
    """Return a measure's definition: formula, gain, cutoff, denominator, ties, provider.

    Args:
        name: The measure, for example ``nDCG@10``.

    Raises:
        UsageError: As :func:`parse_measure`.
    """
    return parse_measure(name).definition


def split_names(text: str) -> list[str]:
    """Split a list of measure names.

    A number alone belongs to the name before it: ``P.5,10,map`` is ``P.5,10`` and ``map``.
    """
    names: list[str] = []
    for part in split_list(text):
        if names and _NUMBER.fullmatch(part):
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names


def _parse(name: str) -> list[Measure]:
    text = name.strip()
    measures = _from_trec_eval(text) or [_from_class(text) or _build(_parse_parts(text), text)]
    for measure in measures:
        refuse_misleading_name(measure, _is_standard)
        if "".join(text.split()) != measure.name:
            measure.alias = text
    return measures


def _from_trec_eval(text: str) -> list[Measure]:
    """Parse a name in trec_eval's spelling; return an empty list for other names."""
    alias = ALIASES.get(text)
    if alias is not None and alias.trec_eval:
        if alias.values:
            return [_bind(alias, value, text) for value in alias.values]
        # P without a value is the canonical label.
        return [_build(NameParts(alias.label, alias.parameters), text)]
    match = _TREC_SPELLING.fullmatch(text)
    if match is None:
        return []
    alias = ALIASES.get(match["name"])
    values = [_number(value, text) for value in match["values"].split(",")]
    if alias is None or alias.values_bind is None:
        return []
    return [_bind(alias, value, text) for value in values]


def _bind(alias: Alias, value: float, text: str) -> Measure:
    """Construct a measure with a value in trec_eval's spelling."""
    if alias.values_bind == "@":
        return _build(NameParts(alias.label, alias.parameters, value), text)
    return _build(NameParts(alias.label, {str(alias.values_bind): float(value)}), text)


def _is_standard(name: str) -> bool:
    """Return whether readers would think that the name is that of a standard measure."""
    label = re.split(r"[(@]", name, maxsplit=1)[0].strip()
    match = _TREC_SPELLING.fullmatch(name)
    alias = None if match is None else ALIASES.get(match["name"])
    return (
        label in ALIASES
        or label in registry.builtin_labels()
        or label in registry.ir_measures_labels()
        or (alias is not None and alias.values_bind == "@")
    )


def _same(first: Measure, second: Measure) -> bool:
    """Return whether two measures of the same name are the same measure."""
    parameters = [getattr(measure, "parameters", None) for measure in (first, second)]
    return type(first) is type(second) and parameters[0] == parameters[1]


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
    label, parameters, at = _parse_parts(match["rest"], match["module"] + ":")
    measure_class = load_class(match["module"], label)
    return construct(measure_class, parameters, at)


def _build(parts: NameParts, text: str) -> Measure:
    label, parameters, at = parts
    alias = ALIASES.get(label)
    if alias is not None and not alias.trec_eval:
        label, parameters = alias.label, {**alias.parameters, **parameters}
    measure = registry.construct(label, parameters, at)
    if measure is None:
        raise _unknown(text, label)
    return measure


def _unknown(text: str, label: str) -> UsageError:
    # If names differ only in case, the canonical one is suggested.
    labels = registry.measure_labels()
    in_trec_eval = {name for name, one in ALIASES.items() if one.trec_eval} - {*labels}
    common = [name for name, one in ALIASES.items() if not one.trec_eval]
    names = [*registry.ir_measures_labels(), *in_trec_eval, *common, *labels]
    lowered = {name.lower(): name for name in names}
    near = difflib.get_close_matches(label.lower(), lowered, 3, 0.5)
    if label.lower() in lowered:
        near = [label.lower()]
    # Suggestions contain the parameters and the cutoff, except trec_eval's names.
    rest = text.removeprefix(label)
    offered = [f"{name}{'' if name in in_trec_eval else rest}" for name in map(lowered.get, near)]
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
    try:
        node: ast.expr = ast.parse(text, mode="eval").body
        at = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            at = ast.literal_eval(node.right)
            node = node.left
        parameters: dict[str, Any] = {}
        if isinstance(node, ast.Call) and not node.args:
            for keyword in node.keywords:
                parameters[keyword.arg or "**"] = ast.literal_eval(keyword.value)
            node = node.func
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return NameParts(node.id, parameters, at) if isinstance(node, ast.Name) else None


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
