"""The result of a benchmark in one sentence: the best mode on the primary measure.

Everything here is computed from the report alone, so it can be computed again from a report that
was read, also from one of schema version 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trectools_plus.benchmark.report.model import (
    SCHEMA_VERSION,
    BenchmarkReport,
    BestOverall,
    FailingQuery,
    Verdict,
)
from trectools_plus.choices import DEFAULT_MEASURES, MOST_HEADLINES
from trectools_plus.errors import InputError
from trectools_plus.formats.files.closed import read_document
from trectools_plus.plugins import without_user_code
from trectools_plus.statistics.comparison import Comparison, ConfidenceInterval
from trectools_plus.statistics.method import EQUAL, FEW
from trectools_plus.text import join_names, listed, plural

_PRIMARY = "nDCG@10"
_PRIMARY_OF_TERMS = "RR"
_HEADLINES_OF_TERMS = ("RR", "HitRate@1", "HitRate@10", "nDCG@10", "R@10", "MaxOntSim@10")
_QUERIES = ("query", "queries")
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

    chosen = match_name(config.get("primary_measure") or "", names)
    if chosen is not None:
        return chosen
    default = _PRIMARY_OF_TERMS if _is_over_terms(config) else _PRIMARY
    wanted = (*(config.get("headline_measures") or ()), default)
    known = [name for name in (match_name(name, names) for name in wanted) if name is not None]
    return next(iter((*known, *names)), "")


def _choose_headlines(report: BenchmarkReport, primary: str) -> list[str]:
    """Return the measures to show first, the primary first: those that are named, or six at most.

    If the report has fewer than six of the default measures, its other measures follow.
    """
    config, names = report.manifest.config, report.measure_names
    configured = config.get("headline_measures")
    defaults = _HEADLINES_OF_TERMS if _is_over_terms(config) else DEFAULT_MEASURES
    wanted = [report.find_measure(name) for name in configured or defaults]
    chosen = dict.fromkeys([primary, *(name for name in wanted if name is not None)])
    return list(chosen) if configured else list(dict.fromkeys([*chosen, *names]))[:MOST_HEADLINES]


def _find_best_overall(report: BenchmarkReport, measure: str) -> BestOverall | None:
    """Return the best mode on a measure; ``None`` without one (see ``best_mode``)."""
    best = report.best_mode.get(measure)
    if best is None:
        return None
    pairs = [
        {entry.baseline, entry.contrast}
        for entry in report.comparisons
        if entry.measure == measure and entry.significant
    ]
    settled = report.best_mode_significant.get(measure, False)
    others = [mode for mode in report.modes if mode != best and {mode, best} not in pairs]
    return BestOverall(
        mode=best,
        measure=measure,
        settled=settled,
        not_different=[] if settled else others,
        rule=f"the best mean {measure}; settled if significantly better than every other "
        f"{report.noun}",
    )


def make_verdict(report: BenchmarkReport, measure: str) -> Verdict | None:
    """Return the result on a measure; ``None`` if the report has no modes or not this measure.

    Args:
        report: The report.
        measure: One of its measures, usually the primary one.
    """
    if not report.modes or measure not in report.best_mode:
        return None
    results = {mode: result.measures[measure] for mode, result in report.modes.items()}
    means = {mode: one.mean for mode, one in results.items() if one.mean is not None}
    is_ranked = measure not in report.unranked
    choose = max if report.higher_is_better(measure) else min
    baselines = [mode for mode in baselines_of(report) if mode in means]
    rest = [mode for mode in means if mode not in baselines]
    has_baseline = is_ranked and bool(baselines and rest)
    best = choose(rest, key=means.__getitem__) if has_baseline else report.best_mode[measure]
    best = best if best in means else None
    others = baselines if has_baseline else [mode for mode in means if mode != best]
    second = choose(others, key=means.__getitem__) if best and others else None
    entry = report.find_comparison(second, best, measure) if best and second else None
    only = next(iter(results.values())) if len(results) == 1 else None
    top = choose(means.values()) if means and best is None and is_ranked else None
    lead = means[best] - means[second] if best and second else None
    if entry is not None and entry.difference is not None:
        lead = entry.difference
    verdict = Verdict(
        text="",
        measure=measure,
        best=best,
        second=second,
        value=means[best] if best else top if top is not None else only and only.mean,
        difference=lead,
        ci=entry.ci if entry and entry.difference is not None else only and only.ci,
        p_adjusted=entry and entry.p_adjusted,
        significant=None if entry is None or entry.p_adjusted is None else entry.significant,
        **(_count_tested(report, measure, second) if has_baseline and second else {}),
        queries=entry.n if entry else only.n if only else report.manifest.dataset.queries,
        next_steps=_list_next_steps(report, measure, entry),
    )
    unscored = [mode.label for mode in report.unscored.values()]
    end = f"; not scored: {join_names(unscored, f'{report.noun}s', _NAMED)}" if unscored else ""
    tied = [] if top is None else [one for one, mean in means.items() if abs(mean - top) <= EQUAL]
    text = _describe(report, verdict, tied, _show_interval(verdict.ci, "+", entry))
    return verdict.model_copy(update={"text": f"{text}{end}."})


def _count_tested(report: BenchmarkReport, measure: str, baseline: str) -> dict[str, int]:
    """Count the modes that are compared with a baseline, and significantly better or worse."""
    tested = [
        entry
        for entry in report.comparisons
        if (entry.baseline, entry.measure) == (baseline, measure)
        and entry.p_adjusted is not None
        and report.modes[entry.contrast].measures[measure].mean is not None
    ]
    changes = [entry.difference or 0.0 for entry in tested if entry.significant]
    risen, fallen = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    better, worse = (risen, fallen) if report.higher_is_better(measure) else (fallen, risen)
    return {"compared": len(tested), "better": better, "worse": worse}


def _describe(report: BenchmarkReport, verdict: Verdict, tied: list[str], interval: str) -> str:
    """Return the sentence of a verdict, without its end."""
    measure, noun, queries = verdict.measure, report.noun, plural(verdict.queries, *_QUERIES)
    if verdict.best is None or verdict.second is None:
        return _describe_without_second(report, verdict, tied)
    best, second = (report.modes[mode].label for mode in (verdict.best, verdict.second))
    lead, is_higher = verdict.difference or 0.0, report.higher_is_better(measure)
    figures = f"{_show(verdict.value)}, {_show(lead, '+')}"
    if verdict.compared is not None:
        side = "better" if (lead > 0) == is_higher else "worse"
        relation = f"is significantly {side} than" if verdict.significant and lead else (
            "does not differ significantly from"
        )  # fmt: skip
        text = f"{best} {relation} {second} on {measure} with {queries}: {figures}{interval}"
        counts = f"; {verdict.better} of {plural(verdict.compared, noun)} are significantly better "
        return text + (f"{counts}and {verdict.worse} worse" if verdict.compared > 1 else "")
    is_settled = report.best_mode_significant.get(measure, False)
    rank = "is best" if is_settled else f"scores {'highest' if is_higher else 'lowest (best)'}"
    text = f"{best} {rank} on {measure}: {figures} over {second}{interval}; "
    if verdict.significant is None:
        return f"{text}this difference was not tested"
    against = f"against every other {noun} " if is_settled and len(report.modes) > 2 else ""
    return f"{text}{'' if verdict.significant else 'not '}significant {against}with {queries}"


def _describe_without_second(report: BenchmarkReport, verdict: Verdict, tied: list[str]) -> str:
    measure, noun, queries = verdict.measure, report.noun, plural(verdict.queries, *_QUERIES)
    value = f"{_show(verdict.value)}{_show_interval(verdict.ci)}"
    named = tied if verdict.best is None else [verdict.best]
    if all(one.measures[measure].mean is None for one in report.modes.values()):
        return f"{measure} is undefined for every {noun}"
    if not named and len(report.modes) > 1:
        why = "the means are over different queries"
        return f"The {noun}s are not ranked on {measure}, because {why}"
    if len(named) > 1:
        best = "" if len(named) == len(report.modes) else "best "
        return f"{_join(report, named)} have the same {best}mean on {measure}: {value} with " + (
            queries
        )
    label = _join(report, named or [*report.modes])
    return f"{label} has a mean of {value} on {measure} over {queries}"


def baselines_of(report: BenchmarkReport) -> list[str]:
    """Return the modes that the others are compared with; empty if every pair is compared."""
    return [mode for mode in report.manifest.config.get("baseline") or () if mode in report.modes]


def add_result(report: BenchmarkReport) -> BenchmarkReport:
    """Return the report with its result, and with primary and headline measures if it lacks them.

    Args:
        report: The report.
    """
    names = report.canonical_names
    measure = report.primary_measure or find_primary(report.manifest.config, names)
    headlines = report.headline_measures or _choose_headlines(report, measure)
    named = report.model_copy(update={"primary_measure": measure, "headline_measures": headlines})
    overall, verdict = _find_best_overall(named, measure), make_verdict(named, measure)
    return named.model_copy(update={"best_overall": overall, "verdict": verdict})


def _is_over_terms(config: Mapping[str, Any]) -> bool:
    return config.get("dataset") == "hpo" or config.get("ontology") is not None


def _join(report: BenchmarkReport, modes: Sequence[str]) -> str:
    return join_names([report.modes[mode].label for mode in modes], f"{report.noun}s", _NAMED)


def _list_next_steps(report: BenchmarkReport, measure: str, entry: Comparison | None) -> list[str]:
    """List what to look at next, a sentence each: power, failing queries."""
    steps = []
    if entry and entry.n > 1 and entry.changed < FEW:
        few = " Fewer than a significant difference needs." if entry.reason == "few_changed" else ""
        steps.append(f"{entry.changed} of {plural(entry.n, *_QUERIES)} differ on {measure}.{few}")
    if entry and not entry.significant and entry.detectable_difference is not None:
        modes = (_join(report, [mode]) for mode in (entry.contrast, entry.baseline))
        steps.append(
            f"With {plural(entry.n, *_QUERIES)}, a true difference of "
            f"{_show(entry.detectable_difference)} between {' and '.join(modes)} on {measure} is "
            "detected in at least 80 of 100 cases."
        )
    if failing := report.failing_queries:
        of_all = plural(report.manifest.dataset.queries, *_QUERIES)
        ids = listed([query.query_id for query in failing])
        steps.append(f"Value 0 on {failing[0].measure}: {len(failing):,} of {of_all}: {ids}.")
    return steps


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
    if ci is None or ci.low is None or ci.high is None:
        return ""
    label = "" if entry is None or entry.has_own_level else ", unadjusted"
    return f" [{_show(ci.low, sign)}, {_show(ci.high, sign)}{label}]"


def report_of_mode(
    report: BenchmarkReport, mode: str, failing: Sequence[FailingQuery]
) -> BenchmarkReport:
    """Return the report of one mode: its figures and diagnostics, without comparisons.

    Args:
        report: The report of all modes.
        mode: One of the modes.
        failing: The queries for which this mode scores 0 on the primary measure.
    """
    strata = {
        field: {value: {mode: modes[mode]} for value, modes in values.items() if mode in modes}
        for field, values in report.strata.items()
    }
    alone = BenchmarkReport(
        manifest=report.manifest,
        primary_measure=report.primary_measure,
        headline_measures=report.headline_measures,
        modes={mode: report.modes[mode]},
        comparisons=[],
        best_mode=dict.fromkeys(report.best_mode),
        best_mode_significant=dict.fromkeys(report.best_mode_significant, False),
        strata=strata,
        failing_queries=list(failing),
        diagnosis=[one for one in report.diagnosis if one.mode == mode],
        notes=report.notes,
    )
    return add_result(alone)


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
            remedy="use a BenchmarkReport.json written by `benchmark run`",
        ) from error
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise InputError("not a benchmark report", where=str(path)) from error
