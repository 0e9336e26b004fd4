"""Whether two reports may be compared: the same judgments, queries, documents and rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.errors import IncomparableError

_WORDS = {
    "qrels": "other qrels",
    "topics": "other queries",
    "corpus": "other documents",
    "ontology": "another ontology",
    "annotations": "other annotations",
}


def refuse_incomparable(
    first: BenchmarkReport, second: BenchmarkReport, names: tuple[str, str]
) -> None:
    """See that two reports rest on the same data.

    Judgments, queries' texts and documents are compared by the hashes of their contents, so the
    names and formats of files do not matter; ontologies and annotations by those of their files.
    What only one report knows (the corpus, where given runs were scored) is not compared.

    Args:
        first: A report.
        second: Another.
        names: What they are called in messages.

    Raises:
        IncomparableError: If they do not; it names everything that differs.
    """
    differing = find_differences(first, second)
    if differing:
        raise IncomparableError(
            f"the reports cannot be compared: {'; '.join(differing)}",
            where=" and ".join(names),
            remedy="make both with the same data",
        )


def find_differences(first: BenchmarkReport, second: BenchmarkReport) -> list[str]:
    """What keeps two reports from being compared, in words; empty when nothing does."""
    ours, theirs = first.manifest.dataset, second.manifest.dataset
    found = []
    if ours.version != theirs.version:
        found.append(f"other dataset versions ({ours.version} and {theirs.version})")
    for kind, words in _WORDS.items():
        pair = ours.contents.get(kind), theirs.contents.get(kind)
        if None not in pair and pair[0] != pair[1]:
            found.append(f"{words} (sha256 {str(pair[0])[:8]} and {str(pair[1])[:8]})")
    if "qrels" not in ours.contents or "qrels" not in theirs.contents:
        found.append("a report does not say which qrels it rests on")
    if ours.queries != theirs.queries:
        found.append(f"means over {ours.queries} and {theirs.queries} queries")
    rules = [report.manifest.config.get("missing", "zero") for report in (first, second)]
    if rules[0] != rules[1]:
        found.append(f"queries without results count as {rules[0]} and {rules[1]}")
    return found


def find_changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What differs between two configurations, or two lists of versions.

    Returns:
        By dotted name, such as ``retrieval.k1``, the value in each; ``None`` where it is not set.
    """
    a, b = _flatten(first), _flatten(second)
    names = dict.fromkeys([*a, *b])
    return {name: (a.get(name), b.get(name)) for name in names if a.get(name) != b.get(name)}


def _flatten(part: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in part.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{above}{key}.")
        else:
            flat[f"{above}{key}"] = value
    return flat
