"""A measure that trec_eval computes, with its parameters bound.

What the measures are is in ``families.py``; scoring is in ``delegation.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from trectools_plus.errors import UsageError
from trectools_plus.measures.base import (
    Definition,
    Measure,
    canonical_name,
    checked_cutoff,
    checked_level,
    provided_by,
)
from trectools_plus.measures.families import Family

TREC_EVAL_VERSION = "9.0.8"


class TrecEvalMeasure(Measure):
    """A family with its parameters bound.

    Args:
        family: The measure.
        cutoff: What stands behind ``@``; ``None`` for nothing.
        parameters: Values for names in the family's defaults.

    Raises:
        UsageError: If a parameter does not exist or has a value that cannot be.
    """

    def __init__(self, family: Family, cutoff: Any = None, **parameters: Any) -> None:
        self.family = family
        unknown = parameters.keys() - family.defaults.keys()
        if unknown:
            raise UsageError(
                f"{family.label} has no parameter {', '.join(sorted(unknown))}",
                remedy=f"it takes: {', '.join(family.defaults) or 'none'}",
            )
        self.parameters: dict[str, Any] = {**family.defaults, **parameters}
        self.recall: float | None = None
        if family.cutoff_parameter == "recall":
            self.recall = _checked_recall(cutoff, family.label)
        else:
            if cutoff is not None and not family.trec_cut_name:
                raise UsageError(
                    f"{family.label} takes no cutoff, got @{cutoff}",
                    remedy=f"write it as {family.label}",
                )
            required = family.trec_name is None
            self.cutoff = checked_cutoff(cutoff, family.label, required=required)
        for key, value in parameters.items():
            _CHECKS[key](value, family.label)
        self.relevance_level = self.parameters.get("rel") or 1

    @property
    def name(self) -> str:
        """As ``ir_measures`` spells it."""
        parameters, defaults = dict(self.parameters), dict(self.family.defaults)
        at = self.cutoff if self.recall is None else self.recall
        if parameters.get("gains") is not None:
            parameters["gains"] = _Verbatim(_spell_gains(parameters["gains"]))
        return canonical_name(self.family.label, parameters, defaults, at)

    @property
    def judged_only(self) -> bool:
        """Whether unjudged documents are taken out of the ranking first."""
        return bool(self.parameters.get("judged_only", False))

    @property
    def depth(self) -> int | None:
        """The deepest rank it can see, ``None`` for the whole ranking."""
        return None if self.judged_only else self.cutoff

    @property
    def level(self) -> int | None:
        """The relevance level trec_eval must run with; ``None`` if any gives the same figure."""
        level = self.parameters.get("rel")
        return level if level is None else int(level)

    @property
    def gain_of(self) -> Callable[[int], int] | None:
        """What replaces each grade before trec_eval sees it; ``None`` for nothing."""
        if self.parameters.get("dcg") == "exp-log2":
            return _exponential_gain
        if self.parameters.get("gains") is not None:
            return partial(_mapped_gain, self.parameters["gains"])
        if self.family.label == "NumRel" and self.relevance_level > 1:
            # trec_eval's num_rel always counts from grade 1, whatever the relevance level.
            return partial(_binary_gain, self.relevance_level)
        return None

    @property
    def gain_key(self) -> str:
        """Equal for measures that replace grades alike."""
        if self.gain_of is None:
            return ""
        return f"{self.family.label} {self.parameters}"

    @property
    def trec_request(self) -> str:
        """What pytrec_eval is asked for, such as ``ndcg_cut_10``."""
        family, parameters = self.family, self.parameters
        if self.recall is not None:
            return f"{family.trec_name}_{self.recall:.2f}"
        if family.label == "SetF" and parameters["beta"] != 1.0:
            return f"set_F_{parameters['beta']}"
        if family.label == "SetP" and parameters["relative"]:
            return "set_relative_P"
        if family.label == "NumRet" and parameters["rel"] is not None:
            return "num_rel_ret"
        if self.cutoff is None or family.trec_cut_name == family.trec_name:
            return str(family.trec_name)
        return f"{family.trec_cut_name}_{self.cutoff}"

    @property
    def trec_result(self) -> str:
        """The key of pytrec_eval's answer: it calls every set_F just that."""
        return "set_F" if self.family.label == "SetF" else self.trec_request

    @property
    def trec_call(self) -> str | None:
        """The trec_eval call that prints the same mean."""
        if self.gain_of is not None:
            return None
        options = ["-c"]
        if self.judged_only:
            options.append("-J")
        if self.relevance_level > 1:
            options.append(f"-l {self.relevance_level}")
        if self.family.label == "RR" and self.cutoff is not None:
            options.append(f"-M {self.cutoff}")
        base = self.family.trec_cut_name if self.cutoff else self.family.trec_name
        spelled = self.trec_request
        if base and spelled.startswith(f"{base}_"):
            spelled = f"{base}.{spelled.removeprefix(f'{base}_')}"
        return f"trec_eval {' '.join(options)} -m {spelled} QRELS RUN"

    @property
    def _definition(self) -> Definition:
        family = self.family
        words = {
            "first": "in the ranking" if self.cutoff is None else f"in the first {self.cutoff}",
            "k": "the number retrieved" if self.cutoff is None else self.cutoff,
            "level": self.relevance_level,
            "recall": self.recall,
            "beta": self.parameters.get("beta"),
        }
        formula = family.formula.format(**words)
        if self.judged_only:
            formula += "; unjudged documents are taken out of the ranking first"
        return Definition(
            name=self.name,
            formula=formula,
            gain=self._gain_in_words().format(**words),
            cutoff=self.cutoff,
            denominator=family.denominator.format(**words),
            relevance_level=self.relevance_level,
            provider=trec_eval_provider(),
            trec_eval_call=self.trec_call,
        )

    def _gain_in_words(self) -> str:
        if self.parameters.get("dcg") == "exp-log2":
            return "2^grade - 1 (exponential); a negative grade counts as 0"
        if self.parameters.get("gains") is not None:
            return f"the grade, replaced by {_spell_gains(self.parameters['gains'], ': ', ', ')}"
        return self.family.gain


def trec_eval_provider() -> str:
    """Who computes these, with both versions."""
    return f"{provided_by('pytrec-eval-terrier')} (trec_eval {TREC_EVAL_VERSION})"


class _Verbatim(str):
    """A text that spells itself without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _spell_gains(gains: Mapping[int, int], colon: str = ":", comma: str = ",") -> str:
    changed = (f"{grade}{colon}{gain}" for grade, gain in sorted(gains.items()) if grade != gain)
    return "{{" + comma.join(changed) + "}}" if colon == ": " else "{" + comma.join(changed) + "}"


def _exponential_gain(grade: int) -> int:
    # trec_eval gives a negative grade no gain already.
    return 2**grade - 1 if grade > 0 else grade


def _mapped_gain(gains: Mapping[int, int], grade: int) -> int:
    return gains.get(grade, grade)


def _binary_gain(level: int, grade: int) -> int:
    return int(grade >= level) if grade > 0 else grade


def _checked_recall(recall: Any, label: str) -> float:
    number = isinstance(recall, int | float) and not isinstance(recall, bool)
    if not number or not 0 <= recall <= 1 or round(recall, 2) != recall:
        raise UsageError(
            f"{label} needs a recall between 0 and 1 in steps of 0.01, got {recall!r}",
            remedy=f"write it as {label}@0.1",
        )
    return float(recall)


def _check_flag(value: Any, label: str) -> None:
    if not isinstance(value, bool):
        raise UsageError(f"expected True or False but got {value!r}", where=label)


def _check_dcg(value: Any, label: str) -> None:
    if value not in ("log2", "exp-log2"):
        raise UsageError(f"expected dcg 'log2' or 'exp-log2' but got {value!r}", where=label)


def _check_beta(value: Any, label: str) -> None:
    # pytrec_eval reads digits only: 1e-05 would silently be 1.
    good = isinstance(value, float) and value > 0 and "e" not in repr(value)
    if not good or value == float("inf"):
        raise UsageError(
            f"beta must be a decimal number above 0, got {value!r}",
            where=label,
            remedy="write it as SetF(beta=0.5)",
        )


def _check_gains(value: Any, label: str) -> None:
    whole = isinstance(value, dict) and all(
        isinstance(number, int) and not isinstance(number, bool)
        for pair in value.items()
        for number in pair
    )
    if not whole:
        raise UsageError(
            f"gains must map whole grades to whole gains, got {value!r}",
            where=label,
            remedy="write it as nDCG(gains={0:0,1:1,2:5})@10",
        )


_CHECKS: dict[str, Callable[[Any, str], object]] = {
    "rel": checked_level,
    "judged_only": _check_flag,
    "relative": _check_flag,
    "dcg": _check_dcg,
    "beta": _check_beta,
    "gains": _check_gains,
}
