"""The result of an estimate in one sentence."""

from __future__ import annotations

from trectools_plus.judging.estimates.combined import WORTHWHILE
from trectools_plus.judging.estimates.report import JudgmentReport, RunEstimate, ShownInterval
from trectools_plus.text import plural


def state_result(report: JudgmentReport) -> str:
    """Say what holds for queries like these, and what the model added."""
    measure = report.estimates[0].measure
    of_measure = [one for one in report.estimates if one.measure == measure]
    one = next((pair for pair in of_measure if pair.baseline is not None), of_measure[0])
    found = one.estimates[0]
    counts = report.counts
    by_people = f"{plural(counts.people, 'query', 'queries')} judged by people"
    if found.combined is None:
        reason = report.refusal or "see the warnings"
        return (
            f"{_state(one, found.people)}, from {by_people} alone. "
            f"There is no combined interval: {reason}."
        )
    text = (
        f"{_state(one, found.combined)}, from {by_people} and {counts.queries:,} by "
        f"{report.model.model}"
    )
    if found.effective is not None and found.effective >= WORTHWHILE * counts.people:
        text += f", worth {found.effective:.0f} queries of people"
    else:
        text += ", which added nothing"
    return (
        f"{text}; people alone: {show_interval(found.people, one.baseline)}; the model alone says "
        f"{show_mean(found.model, one.baseline)} and must not be quoted."
    )


def _state(one: RunEstimate, interval: ShownInterval) -> str:
    mean, ends = show_mean(interval, one.baseline), show_interval(interval, one.baseline)
    if one.baseline is None:
        return f"{one.run} has {one.measure} {mean} {ends}"
    if interval.low is not None and (interval.low > 0.0 or (interval.high or 0.0) < 0.0):
        return f"{one.run} is better than {one.baseline} on {one.measure} by {mean} {ends}"
    return (
        f"{one.run} and {one.baseline} cannot be told apart on {one.measure}: difference {mean} "
        f"{ends}"
    )


def show_mean(interval: ShownInterval, baseline: str | None) -> str:
    """Show a mean, or a difference with its sign."""
    return f"{interval.mean:{'' if baseline is None else '+'}.4f}"


def show_interval(interval: ShownInterval, baseline: str | None) -> str:
    """Show the ends of an interval of a mean or a difference."""
    if interval.low is None:
        return "(no interval)"
    sign = "" if baseline is None else "+"
    return f"[{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]"
