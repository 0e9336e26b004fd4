"""What must be known of modes beside their figures, said once for all modes that share it."""

from __future__ import annotations

from dataclasses import dataclass

from trectools_plus.benchmark.report import BenchmarkReport, ModeResult

_NAMED = 3
"""How many modes are named before they are only counted."""


@dataclass(frozen=True, slots=True)
class ModeNote:
    """Notes that hold for one or several modes.

    Attributes:
        subject: ``Hybrid is incomplete``, ``12 modes are incomplete``, ``Lexical-Only``.
        text: The notes.
    """

    subject: str
    text: str


def mode_notes(report: BenchmarkReport) -> list[ModeNote]:
    """The notes of all modes, equal ones together, in the order of the modes."""
    groups: dict[tuple[str, str], list[str]] = {}
    for result in report.modes.values():
        if result.diagnostics.notes:
            key = _state_of(result), "; ".join(result.diagnostics.notes)
            groups.setdefault(key, []).append(result.label)
    return [ModeNote(_subject(labels, state), text) for (state, text), labels in groups.items()]


def report_notes(report: BenchmarkReport) -> list[str]:
    """What must be known of the report as a whole: too few queries, figures that came back."""
    notes = []
    if report.size is not None and report.size.warning:
        notes.append(f"{report.size.warning[:1].upper()}{report.size.warning[1:]}.")
    manifest = report.manifest
    if manifest.cached_from is not None:
        notes.append(
            f"Nothing was computed anew: configuration, data and code are those of experiment "
            f"{manifest.cached_from}, whose results (latencies included) came back; --no-cache "
            "computes them again."
        )
    notes += [
        f"{mode.label} is {mode.status} and was not scored, nor compared with any mode: "
        f"{mode.reason}."
        for mode in report.unscored.values()
    ]
    return [*notes, *report.notes] + [
        f"{run.name} was merged into this report from {run.path}." for run in manifest.merged
    ]


def join_labels(labels: list[str], named: int = _NAMED) -> str:
    """``a``, ``a and b``, ``a, b and c``; ``12 modes`` where they are more than ``named``."""
    if len(labels) > named:
        return f"{len(labels)} modes"
    return " and ".join(part for part in (", ".join(labels[:-1]), labels[-1]) if part)


def _state_of(result: ModeResult) -> str:
    if result.status != "ok":
        return result.status
    return "incomplete" if result.diagnostics.status == "incomplete" else ""


def _subject(labels: list[str], state: str) -> str:
    verb = "is" if len(labels) == 1 else "are"
    return f"{join_labels(labels)} {verb} {state}" if state else join_labels(labels)
