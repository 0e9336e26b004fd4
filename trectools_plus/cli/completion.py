"""Shell completion of the values of options and arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from trectools_plus import measures, retrieval, testsets, validation
from trectools_plus.choices import ALL_MODES
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.backends.registry import BACKENDS

Completion = Callable[[str], list[str]]
"""Takes the text before the cursor; the shell shows the values that start with it."""


def complete_words(words: Sequence[str]) -> Completion:
    """Return a completion of a value that is one of the words."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def complete_list(words: Sequence[str]) -> Completion:
    """Return a completion of a comma-separated list of the words."""

    def complete(incomplete: str) -> list[str]:
        return _extend(incomplete, words)

    return complete


def _extend(incomplete: str, words: Iterable[str]) -> list[str]:
    """Return a comma-separated list with its last word completed, once per possible word."""
    before, comma, part = incomplete.rpartition(",")
    given = before.split(",")
    possible = [word for word in words if word.startswith(part) and word not in given]
    return [f"{before}{comma}{word}" for word in possible]


complete_modes = complete_list(ALL_MODES)
complete_backend = complete_words(list(BACKENDS))


def complete_measures(incomplete: str) -> list[str]:
    """Complete a comma-separated list of measures."""
    return _extend(incomplete, _measure_names())


def _measure_names() -> list[str]:
    names = []
    for label in measures.measure_labels():
        for name in (label, f"{label}@10"):
            try:
                measures.parse_measure(name)
            except UsageError:
                continue
            names.append(name)
    return [*names, *measures.ALIASES]


def complete_rules(incomplete: str) -> list[str]:
    """Complete a comma-separated list of codes and names of validation rules."""
    return _extend(incomplete, _rule_names())


def _rule_names() -> list[str]:
    rules = list(validation.CATALOGUE)
    return list(dict.fromkeys([*(one.code for one in rules), *(one.name for one in rules)]))


def complete_explained(incomplete: str) -> list[str]:
    """Complete the name of a measure, or the code or name of a rule."""
    return complete_words([*_measure_names(), *_rule_names()])(incomplete)


def complete_dataset(incomplete: str) -> list[str]:
    """Complete a built-in dataset, or an id of ir_datasets."""
    if not incomplete.startswith("irds:"):
        return complete_words(["hpo", "sample", "irds:"])(incomplete)
    import ir_datasets

    return complete_words([f"irds:{name}" for name in ir_datasets.registry])(incomplete)


def complete_test_set(incomplete: str) -> list[str]:
    """Complete the name of a shipped test set."""
    return complete_words(testsets.shipped_names())(incomplete)


def complete_setting(incomplete: str) -> list[str]:
    """Complete the name in ``--set NAME=VALUE``."""
    names = [f"{name}=" for name in retrieval.RetrievalSettings.model_fields]
    return complete_words(names)(incomplete)
