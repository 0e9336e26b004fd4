"""Preconditions of comparisons: the same queries, judgments, documents and rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.errors import IncomparableError

if TYPE_CHECKING:
    from trectools_plus.measures.evaluation import Evaluation

_DIFFERENCES = {
    "qrels": "different qrels",
    "topics": "different queries",
    "corpus": "different documents",
    "ontology": "different ontologies",
    "annotations": "different annotations",
}


def refuse_different_queries(evaluation: Evaluation) -> None:
    """Check that all runs of an evaluation are averaged over the same queries.

    Raises:
        IncomparableError: If not; it names two runs and a query that only one of them has.
    """
    names = evaluation.run_names
    for name in names[1:]:
        first, other = (evaluation.query_ids[run] for run in (names[0], name))
        if first != other:
            differing = sorted(set(first) ^ set(other))
            raise IncomparableError(
                f"{names[0]} is averaged over {len(first)} queries and {name} over {len(other)}: "
                f"{len(differing)} are in only one of them, for example {differing[0]}",
                remedy="use missing=zero, which counts a query without results as 0",
            )
    # All means of the table have the same denominator.
    assert len({len(evaluation.tables[name]) for name in names}) <= 1


def refuse_incomparable(
    first: BenchmarkReport, second: BenchmarkReport, names: tuple[str, str]
) -> None:
    """Check that two reports are based on the same data.

    Judgments, texts of queries and documents are compared by the hashes of their contents, so
    names and formats of files do not matter; ontologies and annotations by the hashes of their
    files. A part that only one report has is not compared, for example the corpus, where given
    runs were scored.

    Args:
        first: A report.
        second: Another report.
        names: Their names in messages.

    Raises:
        IncomparableError: If the data differ; it lists all differences.
    """
    first_data, second_data = first.manifest.dataset, second.manifest.dataset
    found = []
    if first_data.version != second_data.version:
        found.append(f"different dataset versions ({first_data.version} and {second_data.version})")
    for kind, description in _DIFFERENCES.items():
        a, b = first_data.contents.get(kind), second_data.contents.get(kind)
        if a is not None and b is not None and a != b:
            found.append(f"{description} (sha256 {a[:8]} and {b[:8]})")
    if "qrels" not in first_data.contents or "qrels" not in second_data.contents:
        found.append("a report has no hash of its qrels")
    if first_data.queries != second_data.queries:
        found.append(f"means over {first_data.queries} and {second_data.queries} queries")
    _refuse(found + _differences_of_averaging(first, second), names)


def refuse_different_averaging(
    first: BenchmarkReport, second: BenchmarkReport, names: tuple[str, str]
) -> None:
    """Check that two reports average over queries in the same way.

    Raises:
        IncomparableError: If not.
    """
    _refuse(_differences_of_averaging(first, second), names)


def _differences_of_averaging(first: BenchmarkReport, second: BenchmarkReport) -> list[str]:
    """List the settings that count queries differently."""
    found = []
    one, other = first.manifest.averaging, second.manifest.averaging
    if one.missing != other.missing:
        found.append(f"queries without results count as {one.missing} and {other.missing}")
    modes = (mode for report in (first, second) for mode in report.modes.values())
    has_such = any(mode.diagnostics.queries_without_relevant for mode in modes)
    if one.no_relevant != other.no_relevant and has_such:
        found.append(
            "queries without a relevant document count as "
            f"{one.no_relevant} and {other.no_relevant} (no_relevant)"
        )
    return found


def _refuse(differences: list[str], names: tuple[str, str]) -> None:
    if differences:
        raise IncomparableError(
            f"the reports cannot be compared: {'; '.join(differences)}",
            where=" and ".join(names),
            remedy="make both with the same data and settings",
        )


def find_changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Find the differences between two configurations, or two lists of versions.

    Returns:
        By dotted name, for example ``retrieval.k1``, the value in each; ``None`` if it is not set.
    """
    a, b = _flatten(first), _flatten(second)
    names = dict.fromkeys([*a, *b])
    return {name: (a.get(name), b.get(name)) for name in names if a.get(name) != b.get(name)}


def _flatten(part: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in part.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
