"""The result of a benchmark in one sentence: the best mode on the primary measure.

Everything here is computed from the report alone, so it can be computed again from a report that
was read, also from one of schema version 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from trectools_plus.benchmark.report import (
    SCHEMA_VERSION,
    BenchmarkReport,
    BestOverall,
    ComparisonReport,
    Verdict,
)
from trectools_plus.choices import DEFAULT_MEASURES
from trectools_plus.errors import InputError
from trectools_plus.formats.files.guards import read_document
from trectools_plus.plugins import without_user_code
from trectools_plus.statistics.arrays import EQUAL
from trectools_plus.statistics.comparison import Comparison, ConfidenceInterval, ends_of
from trectools_plus.text import join_names, plural

_MOST_HEADLINES = 6
_HEADLINES_OF_TERMS = ("RR", "HitRate@1", "HitRate@10", "nDCG@10", "R@10", "MaxOntSim@10")
AnyReport = TypeVar("AnyReport", bound=ComparisonReport)
_NAMED = 3
"""With more modes than this, a sentence gives only their number."""


def find_primary(config: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return the primary measure: the configured one, or the default one that the report has.

    Without a name, it is the first named measure. The default is RR for terms of an
    ontology, otherwise nDCG@10; if the report does not have it, its first measure. Empty if the
    report has no measures.

    Args:
        config: The configuration, as in a manifest.
        names: The canonical name of each measure by its name as requested.
    """
    from trectools_plus.measures.parser import match_name

    named = [config.get("primary_measure"), *(config.get("headline_measures") or ())]
    wanted = [*named, _headlines_of(config)[0]]
    known = (match_name(name, names) for name in wanted if name)
    return next((name for name in (*known, *names) if name is not None), "")


def choose_headlines(report: ComparisonReport, primary: str) -> list[str]:
    """Return the measures to show first, the primary first: those that are named, or six at most.

    If the report has fewer than six of the default measures, its other measures follow.
    """
    config = report.setup.config
    named = config.get("headline_measures") or ()
    known = [primary, *filter(None, map(report.find_measure, named or _headlines_of(config)))]
    if named:
        return list(dict.fromkeys(known))
    return list(dict.fromkeys([*known, *report.measure_names]))[:_MOST_HEADLINES]


def make_verdict(report: ComparisonReport, measure: str) -> Verdict | None:
    """Return the result on a measure; ``None`` if the report has no modes or not this measure.

    Args:
        report: The report.
        measure: One of its measures, usually the primary one.
    """
    if not report.modes or measure not in report.best_mode:
        return None
    results = {mode: result.measures[measure] for mode, result in report.modes.items()}
    means = {mode: one.mean for mode, one in results.items() if one.mean is not None}
    choose = max if report.higher_is_better(measure) else min
    baselines = [mode for mode in baselines_of(report) if mode in means]
    rest = [mode for mode in means if mode not in baselines]
    has_baseline = measure not in report.unranked and bool(baselines and rest)
    best = choose(rest, key=means.__getitem__) if has_baseline else report.best_mode[measure]
    others = baselines if has_baseline else [mode for mode in means if mode != best]
    names = join_names(report.setup.unscored, f"{report.setup.noun}s", _NAMED)
    end = f"; not scored: {names}." if names else "."
    if best in means and others:
        pair = best, choose(others, key=means.__getitem__)
        return _judge_pair(report, measure, pair, means, end, has_baseline=has_baseline)
    top = None if measure in report.unranked else choose(means.values(), default=None)
    return _judge_means(report, measure, means, top, end)


def _judge_pair(
    report: ComparisonReport,
    measure: str,
    pair: tuple[str, str],
    means: Mapping[str, float],
    end: str,
    *,
    has_baseline: bool,
) -> Verdict:
    """Return the verdict on the best mode and the one that it is compared with."""
    best, second = pair
    first, other = (report.modes[mode].label for mode in pair)
    entry, lead = report.find_comparison(second, best, measure), means[best] - means[second]
    significant, ci, n = None, None, report.setup.queries
    if entry is not None:
        significant = None if entry.p_adjusted is None else entry.significant
        ci, n = entry.ci, entry.n
        lead = lead if entry.difference is None else entry.difference
    is_higher, queries = report.higher_is_better(measure), plural(n, "query", "queries")
    figures, interval = f"{_show(means[best])}, {_show(lead, '+')}", _show_interval(ci, "+", entry)
    if has_baseline:
        side = "better" if (lead > 0) == is_higher else "worse"
        differs = f"is significantly {side} than" if significant and lead else (
            "does not differ significantly from"
        )  # fmt: skip
        text = f"{first} {differs} {other} on {measure} with {queries}: {figures}{interval}"
    else:
        is_best = report.best_mode_significant.get(measure, False)
        rank = "is best" if is_best else f"scores {'highest' if is_higher else 'lowest (best)'}"
        against = f"against every other {report.setup.noun} " if is_best and len(means) > 2 else ""
        proof = f"{'' if significant else 'not '}significant {against}with {queries}"
        text = f"{first} {rank} on {measure}: {figures} over {other}{interval}; {proof}"
    steps = []
    if entry and not significant and entry.detectable_difference is not None:
        steps.append(
            f"With {queries}, a true difference of {_show(entry.detectable_difference)} between "
            f"{first} and {other} is detected in at least 80 of 100 cases."
        )
    return Verdict(
        text=text + end,
        measure=measure,
        best=best,
        second=second,
        value=means[best],
        difference=lead,
        ci=ci,
        p_adjusted=entry and entry.p_adjusted,
        significant=significant,
        **(_count_tested(report, measure, second) if has_baseline else {}),
        queries=n,
        next_steps=steps,
    )


def _count_tested(report: ComparisonReport, measure: str, baseline: str) -> dict[str, int]:
    """Count the modes that are compared with a baseline, and significantly better or worse."""
    tested = [
        entry
        for entry in report.comparisons
        if (entry.baseline, entry.measure) == (baseline, measure)
        and entry.p_adjusted is not None
        and report.modes[entry.contrast].measures[measure].mean is not None
    ]
    sign = 1 if report.higher_is_better(measure) else -1
    changes = [sign * (entry.difference or 0.0) for entry in tested if entry.significant]
    better, worse = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    return {"compared": len(tested), "better": better, "worse": worse}


def _judge_means(
    report: ComparisonReport, measure: str, means: Mapping[str, float], top: float | None, end: str
) -> Verdict:
    """Return the verdict without a pair: one mode, a tie, or modes that are not ranked."""
    only = next(iter(report.modes.values())).measures[measure] if len(report.modes) == 1 else None
    n, best = only.n if only else report.setup.queries, report.best_mode[measure]
    queries, value = plural(n, "query", "queries"), only.mean if only else top
    tied = [] if top is None else [mode for mode, mean in means.items() if abs(mean - top) <= EQUAL]
    labels = [report.modes[mode].label for mode in tied or means]
    label = join_names(labels, f"{report.setup.noun}s", _NAMED)
    if not means:
        text = f"{measure} is undefined for every {report.setup.noun}"
    elif top is None and only is None:
        text = f"The {report.setup.noun}s are not ranked on {measure}: means over different queries"
    elif len(tied) > 1:
        which = "" if len(tied) == len(report.modes) else "best "
        text = f"{label} have the same {which}mean on {measure}: {_show(value)} with {queries}"
    else:
        interval = _show_interval(only.ci if only else None)
        text = f"{label} has a mean of {_show(value)}{interval} on {measure} over {queries}"
    return Verdict(
        text=text + end,
        measure=measure,
        best=best if best in means else None,
        second=None,
        value=value,
        difference=None,
        ci=only and only.ci,
        p_adjusted=None,
        significant=None,
        queries=n,
    )


def baselines_of(report: ComparisonReport) -> list[str]:
    """Return the modes that the others are compared with; empty if every pair is compared."""
    return [mode for mode in report.setup.config.get("baseline") or () if mode in report.modes]


def add_result(report: AnyReport) -> AnyReport:
    """Return the report with its result, and with primary and headline measures if it lacks them.

    Args:
        report: The report.
    """
    config, names = report.setup.config, report.canonical_names
    measure = report.primary_measure or find_primary(config, names)
    best, settled = report.best_mode.get(measure), report.best_mode_significant.get(measure, False)
    result = {
        "primary_measure": measure,
        "headline_measures": report.headline_measures or choose_headlines(report, measure),
        "best_overall": None if best is None else BestOverall(mode=best, settled=settled),
        "verdict": make_verdict(report, measure),
    }
    return report.model_copy(update=result)


def _headlines_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the headline measures of a configuration that names none, the primary one first."""
    is_over_terms = config.get("dataset") == "hpo" or config.get("ontology") is not None
    return _HEADLINES_OF_TERMS if is_over_terms else DEFAULT_MEASURES


def _show(value: float | None, sign: str = "") -> str:
    """Return a figure with three decimals and a true minus sign; a small one with four."""
    if value is None:
        return "–"
    decimals = 4 if 0 < abs(value) < 0.0005 else 3
    return f"{value:{sign},.{decimals}f}".replace("-", "−")


def _show_interval(
    ci: ConfidenceInterval | None, sign: str = "", entry: Comparison | None = None
) -> str:
    """Return an interval; that of a comparison is labelled unless it belongs to the decision."""
    low, high = ends_of(ci)
    label = "" if entry is None or entry.has_own_level else ", unadjusted"
    return "" if low is None else f" [{_show(low, sign)}, {_show(high, sign)}{label}]"


def load_report(path: str | Path) -> BenchmarkReport:
    """Read a report that :func:`trectools_plus.reporting.write_reports` wrote.

    Args:
        path: The file ``BenchmarkReport.json``.

    Returns:
        The report.

    Raises:
        InputError: If the file cannot be read, is not a report, or has another schema version.
    """
    text = read_document(path)
    try:
        with without_user_code():
            report = BenchmarkReport.model_validate_json(text)
            is_complete = report.primary_measure and report.headline_measures and report.verdict
            return report if is_complete else add_result(report)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputError(
            f"not a benchmark report of schema version {SCHEMA_VERSION}: {field}: {first['msg']}",
            where=str(path),
            remedy="use a BenchmarkReport.json written by `benchmark run`; for run files, use "
            "`trectools-plus compare`",
        ) from error
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise InputError("not a benchmark report", where=str(path)) from error
