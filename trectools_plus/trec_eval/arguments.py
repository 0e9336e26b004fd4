"""Parser of trec_eval's command line, with the conventions of getopt_long.

Flags may be joined (``-qcM1000``), separated from their value by a blank or not (``-m map``,
``-mmap``), and follow the files. trec_eval's long names are accepted too, also abbreviated.

Parameters follow the dot of a measure: ``P.5,7,3``, ``iprec_at_recall..10,.20``, ``ndcg.1=3,2=9``.
As in trec_eval, which uses C's ``atol`` and ``atof``, text after a number is ignored (``23.4`` is
cutoff 23). A text that does not begin with a number is refused, because C reads it as 0.
"""

from __future__ import annotations

import getopt
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

from trectools_plus.display import Displayed
from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.trec_eval_measures import (
    TrecMeasure,
    Version,
    measures_of,
    sets_of,
)

Judgments = Literal["qrels", "qrels_jg", "prefs", "qrels_prefs"]
_NEEDS = {"qrels_jg": "-R qrels_jg", "prefs": "-R prefs or -R qrels_prefs"}


class Flag(NamedTuple):
    """A flag of trec_eval.

    Attributes:
        letter: Its letter; empty for flags that trec_eval does not have.
        name: The long name.
        help: Its value and meaning, for ``-h``.
        field: The attribute of :class:`Arguments`; empty if there is none.
        values: The pattern of its value; empty if it takes none.
        read: Converts the value.
        note: Why it is ignored, if the user should know.
    """

    letter: str
    name: str
    help: str
    field: str
    values: str = ""
    read: Callable[[str], Any] = str
    note: str = ""


def _query_of(level: str) -> str | None:
    _, dot, query_id = level.partition(".")
    return query_id if dot else None


_WHOLE, _POSITIVE = r"\s*[+]?[0-9]{1,18}", r"\s*[+]?0*[1-9][0-9]{0,17}"
# fmt: off
FLAGS = (
    Flag("q", "query_eval_wanted", "Also print the figures of every query.", "per_query"),
    Flag("m", "measure", "NAME[.PARAMETERS]: measure or set; repeatable. Default: official.",
         "measures", ".*"),
    Flag("c", "complete_rel_info_wanted",
         "Average over all queries of the qrels; 0 without results.", "complete"),
    Flag("l", "level_for_rel", "N of at least 0: lowest grade that is relevant. Default: 1.",
         "level", _WHOLE, int),
    Flag("n", "nosummary", "Do not print the figures over all queries.", "summary"),
    Flag("M", "Max_retrieved_per_topic",
         "N of at least 1: score only the first N documents of each query.",
         "max_retrieved", _POSITIVE, int),
    Flag("J", "Judged_docs_only", "Remove unjudged documents from the rankings first.",
         "judged_only"),
    Flag("Z", "Zscore", "FILE: print z-scores. Columns: query_id measure mean deviation.",
         "zscores", ".*"),
    Flag("N", "Number_docs_in_coll", "N of at least 0: documents in the collection, for utility.",
         "collection_size", _WHOLE, int),
    Flag("D", "Debug_level", "N.QUERY: score only this query.", "only_query", ".*", _query_of,
         "no debugging output is printed"),
    Flag("R", "Rel_info_format", "qrels, qrels_jg (several judges), prefs or qrels_prefs.",
         "judgments", "|".join(get_args(Judgments))),
    Flag("T", "Results_format", "trec_results: the only format of results.", "", "trec_results"),
    Flag("o", "Output_old_results_format", "Has no effect.", "",
         note="has no effect, as in trec_eval"),
    Flag("v", "version", "Print the version of trec_eval that is matched.", "version_wanted"),
    Flag("h", "help", "Print this help; with -m also explain those measures.", "help"),
    Flag("", "trec-eval-version", "9 or 10: version of trec_eval to match. Default: 9.",
         "version", "9|10", int),
    Flag("", "permissive", "Also score input whose figures mean nothing, as trec_eval does.",
         "permissive"),
    Flag("", "strict-input", "Refuse every error in a file.", "strict_input"),
)
# fmt: on
"""The flags in the order of ``-h``."""
_SHORT = "".join(f"{flag.letter}{':' * bool(flag.values)}" for flag in FLAGS if flag.letter)
_LONG = [f"{flag.name}{'=' * bool(flag.values)}" for flag in FLAGS]
USAGE = "trectools-plus trec-eval [-q] [-c] [-m MEASURE]... QRELS RUN"

_INTEGER = re.compile(r"\s*([+-]?[0-9]+)")
_DECIMAL = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_MAX_DIGITS = 8
"""The size of trec_eval's buffer for a decimal number in a name; it cuts off further digits."""
_MAX_CUTOFF = 2**62
_MAX_GRADE = 2**20
PERSISTENCE = "p"
"""The parameter of rbp and rbp_resid that is not a grade."""


@dataclass(frozen=True)
class Requested:
    """A measure with its parameters.

    Attributes:
        measure: The measure.
        numbers: Cutoffs or points, ascending; other numbers in the order given.
        text: Its parameters in the command line; ``None`` for the defaults.
        pairs: ``(grade, gain)`` in the order given, without the persistence.
        persistence: The ``p`` of rbp and rbp_resid.
    """

    measure: TrecMeasure
    numbers: tuple[float, ...] = ()
    text: str | None = None
    pairs: tuple[tuple[int, float], ...] = ()
    persistence: float = 0.9

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its lines."""
        name = self.measure.name
        if self.measure.takes == "cutoffs":
            return tuple(f"{name}_{number}" for number in self.numbers)
        if self.measure.takes == "points":
            return tuple(f"{name}_{f'{number:3.2f}'[:_MAX_DIGITS]}" for number in self.numbers)
        return (name if self.text is None else f"{name}_{self.text}",)

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of its values in the result of pytrec_eval."""
        return self.names if self.measure.takes in ("cutoffs", "points") else (self.measure.name,)

    @property
    def gains(self) -> dict[int, float]:
        """The gains given for grades; the first gain of a grade counts, as in trec_eval."""
        return dict(reversed(self.pairs))

    def request(self, numbers: Iterable[float] | None = None) -> str:
        """Return the value of trec_eval's ``-m``, for example ``P.3,5,7``.

        Args:
            numbers: Only these cutoffs or points; ``None`` for all.
        """
        if self.text is None:
            return self.measure.name
        if self.measure.takes == "gains":
            words = [f"{grade}={gain!r}" for grade, gain in self.pairs]
        else:
            words = [repr(number) for number in (self.numbers if numbers is None else numbers)]
        return f"{self.measure.name}.{','.join(words)}" if words else self.measure.name


@dataclass(repr=False)
class Arguments(Displayed):
    """A parsed command line.

    Attributes:
        files: Qrels and run; may be empty if help or the version is requested.
        requested: The measures in trec_eval's order.
        measures: The values of ``-m``.
        version: The version of trec_eval to match.
        per_query: ``-q``: also print the figures of every query.
        summary: Print the figures over all queries; ``-n`` makes it false.
        complete: ``-c``: average over all queries of the qrels.
        judged_only: ``-J``: remove unjudged documents from the rankings first.
        level: ``-l``: the lowest grade that is relevant.
        max_retrieved: ``-M``: the number of documents of each query that are scored; ``None`` for
            all.
        collection_size: ``-N``: the number of documents in the collection, for utility.
        judgments: ``-R``: the format of the judgments.
        zscores: ``-Z``: a file of means and deviations.
        only_query: ``-D level.query_id``: score only this query.
        permissive: ``--permissive``: accept errors at which trec_eval continues.
        strict_input: ``--strict-input``: refuse every error, also those that change no figure.
        help: ``-h``: print the help.
        version_wanted: ``-v``: print the version.
        notes: Arguments that trec_eval ignores without a message, one line each.
    """

    files: list[str] = field(default_factory=list)
    requested: list[Requested] = field(default_factory=list)
    measures: list[str] = field(default_factory=list)
    version: Version = 9
    per_query: bool = False
    summary: bool = True
    complete: bool = False
    judged_only: bool = False
    level: int = 1
    max_retrieved: int | None = None
    collection_size: int = 0
    judgments: Judgments = "qrels"
    zscores: str | None = None
    only_query: str | None = None
    permissive: bool = False
    strict_input: bool = False
    help: bool = False
    version_wanted: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def precision(self) -> Literal[32, 64]:
        """The number of bits in which scores are compared."""
        return 32 if self.version == 9 else 64


def parse_arguments(words: Sequence[str]) -> Arguments:
    """Parse a command line.

    Args:
        words: The arguments after ``trec-eval``.

    Raises:
        UsageError: For a flag, value or measure that does not exist or is not supported, or if
            there are not two files.
    """
    try:
        options, files = getopt.gnu_getopt([*words], _SHORT, _LONG)
    except getopt.GetoptError as error:
        refused = UsageError(str(error), remedy=f"usage: {USAGE}")
        refused.exit_code = 1  # as in trec_eval
        raise refused from error
    arguments = Arguments(files=files)
    for name, text in options:
        flag = next(flag for flag in FLAGS if name in (f"-{flag.letter}", f"--{flag.name}"))
        _set(arguments, flag, name, text)
    arguments.requested = _parse_measures(arguments)
    if not (arguments.help or arguments.version_wanted):
        _check_judgments(arguments)
        _check_files(files)
    return arguments


def _set(arguments: Arguments, flag: Flag, name: str, text: str) -> None:
    value: Any = flag.name != "nosummary"
    if flag.values:
        if re.fullmatch(flag.values, text, re.DOTALL) is None:
            raise UsageError(f"cannot use {text!r}", where=name, remedy=flag.help)
        value = flag.read(text)
    if flag.field == "measures":
        value = [*arguments.measures, value]
    if flag.field:
        setattr(arguments, flag.field, value)
    if flag.note and not text.startswith("0"):
        arguments.notes.append(f"{f'{name} {text}'.strip()}: {flag.note}")


def _parse_measures(arguments: Arguments) -> list[Requested]:
    """Return the requested measures in trec_eval's order, each with its first parameters."""
    known, sets = measures_of(arguments.version), sets_of(arguments.version)
    requested: set[str] = set()
    parameters: dict[str, str] = {}
    for word in arguments.measures or ["official"]:
        name, dot, text = word.partition(".")
        if name not in known and name not in sets:
            raise _unknown(name, word, arguments.version)
        requested.update(sets.get(name, [name]))
        if not dot:
            continue
        if not text:
            raise UsageError(
                f"no parameters after the dot of {word!r}", where="-m", remedy="leave out the dot"
            )
        if name in sets or known[name].takes == "none":
            arguments.notes.append(f"-m {word}: {name} takes no parameters; {text} is ignored")
        elif name in parameters:
            both = f"-m {name}.{parameters[name]},{text}"
            arguments.notes.append(
                f"-m {word}: ignored as in trec_eval, which uses only the first -m {name}.…; "
                f"write {both}"
            )
        else:
            parameters[name] = text
    return [
        bind_parameters(measure, parameters.get(name))
        for name, measure in known.items()
        if name in requested
    ]


def _unknown(name: str, word: str, version: Version) -> UsageError:
    from difflib import get_close_matches

    names = [*measures_of(version), *sets_of(version)]
    if name in measures_of(10) and name not in names:
        return UsageError(
            f"trec_eval 9 has no measure {name}", where="-m", remedy="add --trec-eval-version 10"
        )
    stem, _, number = word.rpartition("_")
    remedy = "`trectools-plus trec-eval -h -m all_trec` lists all measures"
    if stem in names and number.replace(".", "").isdigit():  # the name of an output line
        remedy = f"write -m {stem}.{number}"
    elif near := get_close_matches(name.lower(), names, 1):
        remedy = f"did you mean {near[0]}?"
    return UsageError(f"there is no measure {word!r}", where="-m", remedy=remedy)


def _check_judgments(arguments: Arguments) -> None:
    """Refuse measures that are computed from judgments of another format."""
    form = "prefs" if arguments.judgments == "qrels_prefs" else arguments.judgments
    for requested in arguments.requested:
        needs = requested.measure.needs
        if needs not in ("any", form):
            named = bool(arguments.measures)
            raise UsageError(
                f"{requested.measure.name} is not a measure of -R {arguments.judgments}",
                where=f"-m {requested.measure.name}" if named else "-m official",
                remedy=f"add {_NEEDS[needs]}" if named and form == "qrels" else f"use -m {form}",
            )


def _check_files(files: Sequence[str]) -> None:
    if len(files) != 2:
        raise UsageError(f"expected two files but got {len(files)}", remedy=f"usage: {USAGE}")
    if [*files] == ["-", "-"]:
        raise UsageError("standard input can be read only once", remedy="name a file instead of -")


def bind_parameters(measure: TrecMeasure, text: str | None) -> Requested:
    """Parse the parameters of a measure.

    Args:
        measure: The measure.
        text: The parameters after the dot; ``None`` for the defaults.

    Raises:
        UsageError: If trec_eval would reject them, or read a text as 0.
    """
    if text is None or measure.takes == "none":
        return Requested(measure, measure.defaults)
    where = f"-m {measure.name}.{text}"
    if measure.takes == "gains":
        return _parse_gains(measure, text, where)
    numbers = tuple(_parse_number(measure, word, where) for word in text.split(","))
    if measure.takes in ("cutoffs", "points"):
        numbers = tuple(sorted(numbers))
        if len({*numbers}) < len(numbers):
            raise UsageError(
                "a cutoff is given twice", where=where, remedy="write each cutoff once"
            )
    if measure.takes == "cutoffs" and numbers[0] < 1:
        raise UsageError("cutoffs start at 1", where=where, remedy="for example -m P.5,10")
    if measure.name == "utility" and len(numbers) != 4:
        raise UsageError(
            f"utility takes 4 coefficients but got {len(numbers)}",
            where=where,
            remedy="for example -m utility.1,-1,0,0",
        )
    return Requested(measure, numbers, text)


def _parse_number(measure: TrecMeasure, word: str, where: str) -> float:
    whole = measure.takes == "cutoffs"
    match = (_INTEGER if whole else _DECIMAL).match(word)
    if match is None:
        kind = "a whole number" if whole else "a number"
        raise UsageError(
            f"expected {kind} but got {word!r}, which trec_eval reads as 0",
            where=where,
            remedy=f"for example -m {measure.name}.{'5,10' if whole else '0.5'}",
        )
    number = int(match[1]) if whole else float(match[1])
    if abs(number) > _MAX_CUTOFF:
        raise UsageError(
            f"{word} is too large for trec_eval", where=where, remedy=f"at most {_MAX_CUTOFF:,}"
        )
    return number


def _parse_gains(measure: TrecMeasure, text: str, where: str) -> Requested:
    pairs, persistence = [], Requested.persistence
    for word in text.split(","):
        grade, equals, gain = word.partition("=")
        value = _DECIMAL.fullmatch(gain)
        takes_p = measure.name in ("rbp", "rbp_resid")
        whole = _INTEGER.fullmatch(grade)
        if not equals or value is None or not (whole or (takes_p and grade == PERSISTENCE)):
            raise UsageError(
                f"expected grade=gain but got {word!r}",
                where=where,
                remedy=f"for example -m {measure.name}.1=3,2=9" + (",p=0.8" if takes_p else ""),
            )
        if whole and not 0 <= int(whole[1]) <= _MAX_GRADE:
            raise UsageError(
                f"grade {whole[1]} is not between 0 and {_MAX_GRADE:,}",
                where=where,
                remedy="remove it: a negative grade marks unjudged documents, which have no gain",
            )
        if whole:
            pairs.append((int(whole[1]), float(value[1])))
        else:
            persistence = float(value[1])
    return Requested(measure, (), text, tuple(pairs), persistence)
