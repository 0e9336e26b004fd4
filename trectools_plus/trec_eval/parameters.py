"""What stands behind the dot: ``P.5,7,3``, ``iprec_at_recall..10,.20``, ``ndcg.1=3,2=9``.

trec_eval reads numbers as C's ``atol`` and ``atof`` do: as far as they go (``23.4`` is cutoff 23).
That is kept; a text that does not begin with a number, which C takes for 0, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from trectools_plus.errors import UsageError
from trectools_plus.trec_eval.catalogue import TrecMeasure

_INTEGER = re.compile(r"\s*([+-]?[0-9]+)")
_DECIMAL = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_MAX_DIGITS = 8
"""trec_eval's buffer for a decimal in a name; the rest is cut off."""
_MAX_CUTOFF = 2**62
_MAX_GRADE = 2**20
N_COEFFICIENTS = 4
PERSISTENCE = "p"
"""The parameter of rbp and rbp_resid that is no grade."""


@dataclass(frozen=True)
class Asked:
    """A measure with its parameters.

    Attributes:
        measure: The measure.
        names: The names of its lines.
        numbers: Cutoffs or points, rising; or numbers as they were given.
        pairs: ``(grade, gain)`` as they were given, the persistence aside.
        persistence: The ``p`` of rbp and rbp_resid.
        given: Whether there were parameters on the command line.
    """

    measure: TrecMeasure
    names: tuple[str, ...]
    numbers: tuple[float, ...] = ()
    pairs: tuple[tuple[int, float], ...] = ()
    persistence: float = 0.9
    given: bool = False

    @property
    def gains(self) -> dict[int, float]:
        """The gain of each grade that has one of its own; the first counts, as in trec_eval."""
        return dict(reversed(self.pairs))

    def request(self, numbers: Iterable[float] | None = None) -> str:
        """How trec_eval itself is asked: ``P.3,5,7``.

        Args:
            numbers: Only these, of cutoffs or points.
        """
        if not self.given:
            return self.measure.name
        if self.measure.takes == "gains":
            words = [f"{grade}={gain!r}" for grade, gain in self.pairs]
        else:
            words = [repr(number) for number in (self.numbers if numbers is None else numbers)]
        return f"{self.measure.name}.{','.join(words)}" if words else self.measure.name


def ask(measure: TrecMeasure, text: str | None) -> Asked:
    """Bind parameters to a measure.

    Args:
        measure: The measure.
        text: What stands behind the dot; ``None`` for the defaults.

    Raises:
        UsageError: If trec_eval would stop at them, or read 0 where no number is.
    """
    where = f"-m {measure.name}" if text is None else f"-m {measure.name}.{text}"
    if text is None or measure.takes == "none":
        numbers = measure.defaults
        return Asked(measure, _names(measure, numbers, None), numbers)
    if measure.takes == "gains":
        pairs, persistence = _pairs(measure, text, where)
        names = _names(measure, (), text)
        return Asked(measure, names, pairs=pairs, persistence=persistence, given=True)
    numbers = tuple(_number(measure, word, where) for word in text.split(","))
    if measure.takes in ("cutoffs", "points"):
        numbers = tuple(sorted(numbers))
        if len({*numbers}) < len(numbers):
            raise UsageError("a cutoff is given twice", where=where, remedy="name each once")
    if measure.takes == "cutoffs" and numbers[0] < 1:
        raise UsageError("cutoffs count from 1", where=where, remedy="write as in -m P.5,10")
    if measure.name == "utility" and len(numbers) != N_COEFFICIENTS:
        raise UsageError(
            f"utility takes {N_COEFFICIENTS} coefficients, got {len(numbers)}",
            where=where,
            remedy="write as in -m utility.1,-1,0,0",
        )
    return Asked(measure, _names(measure, numbers, text), numbers, given=True)


def _names(measure: TrecMeasure, numbers: Iterable[float], text: str | None) -> tuple[str, ...]:
    if measure.takes == "cutoffs":
        return tuple(f"{measure.name}_{number}" for number in numbers)
    if measure.takes == "points":
        return tuple(f"{measure.name}_{f'{number:3.2f}'[:_MAX_DIGITS]}" for number in numbers)
    return (measure.name if text is None else f"{measure.name}_{text}",)


def _number(measure: TrecMeasure, word: str, where: str) -> float:
    whole = measure.takes == "cutoffs"
    found = (_INTEGER if whole else _DECIMAL).match(word)
    if found is None:
        kind = "a whole number" if whole else "a number"
        raise UsageError(
            f"expected {kind} but got {word!r}, which trec_eval takes for 0", where=where
        )
    number = int(found[1]) if whole else float(found[1])
    if abs(number) > _MAX_CUTOFF:
        raise UsageError(f"{word} is beyond what trec_eval can hold", where=where)
    return number


def _pairs(
    measure: TrecMeasure, text: str, where: str
) -> tuple[tuple[tuple[int, float], ...], float]:
    pairs, persistence = [], 0.9
    for word in text.split(","):
        grade, equals, gain = word.partition("=")
        value = _DECIMAL.fullmatch(gain)
        takes_p = measure.name in ("rbp", "rbp_resid")
        whole = _INTEGER.fullmatch(grade)
        if not equals or value is None or not (whole or (takes_p and grade == PERSISTENCE)):
            raise UsageError(
                f"expected grade=gain but got {word!r}",
                where=where,
                remedy=f"write as in -m {measure.name}.1=3,2=9" + (",p=0.8" if takes_p else ""),
            )
        if whole and not 0 <= int(whole[1]) <= _MAX_GRADE:
            raise UsageError(
                f"grade {whole[1]} is not between 0 and {_MAX_GRADE:,}",
                where=where,
                remedy="a negative grade stands for documents that nobody judged: give it no gain",
            )
        if whole:
            pairs.append((int(whole[1]), float(value[1])))
        else:
            persistence = float(value[1])
    return tuple(pairs), persistence
