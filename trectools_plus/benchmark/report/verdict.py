"""The result of a benchmark in one sentence: the best mode on the primary measure.

Everything here is computed from the report alone, so it can be computed again from a report that
was read, also from one of schema version 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from trectools_plus.benchmark.report.figures import BestOverall, ReportFigures, Verdict
from trectools_plus.choices import DEFAULT_MEASURES, MOST_HEADLINES
from trectools_plus.statistics.comparison import Comparison, ConfidenceInterval
from trectools_plus.statistics.method import EQUAL, FEW
from trectools_plus.text import join_names, listed, plural

AnyReport = TypeVar("AnyReport", bound=ReportFigures)
_PRIMARY = "nDCG@10"
_PRIMARY_OF_TERMS = "RR"
_HEADLINES_OF_TERMS = ("RR", "HitRate@1", "HitRate@10", "nDCG@10", "R@10", "MaxOntSim@10")
_QUERIES = ("query", "queries")
_NAMED = 3
"""With more modes than this, a sentence gives only their number."""


def choose_primary(report: ReportFigures) -> str:
    """Return the primary measure: the configured one, or the default one that the report has.

    Without a name, it is the first named measure. The default is RR for terms of an
    ontology, otherwise nDCG@10; if the report does not have it, its first measure. Empty if the
    report has no measures.
    """
    return find_primary(report.manifest.config, report.canonical_names)


def find_primary(config: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return the primary measure; see :func:`choose_primary`.

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


def choose_headlines(report: ReportFigures, primary: str) -> list[str]:
    """Return the measures to show first, the primary first: those that are named, or six at most.

    Of measures with equal values (:attr:`ReportFigures.equal_measures`) that nobody named, one is
    chosen. If the report has fewer than six of the default measures, its other measures follow.
    """
    configured = report.manifest.config.get("headline_measures")
    if configured:
        found = [report.find_measure(name) for name in configured]
        named = [primary, *(name for name in found if name is not None)]
        return list(dict.fromkeys(named))
    defaults = _HEADLINES_OF_TERMS if _is_over_terms(report.manifest.config) else DEFAULT_MEASURES
    preferred = [name for name in map(report.find_measure, defaults) if name is not None]
    group_of = {name: group[0] for group in report.equal_measures for name in group}
    chosen: dict[str, str] = {}
    for name in (primary, *preferred, *report.measure_names):
        chosen.setdefault(group_of.get(name, name), name)
    return list(chosen.values())[:MOST_HEADLINES]


def find_best_overall(report: ReportFigures, measure: str) -> BestOverall | None:
    """Return the best mode on a measure; ``None`` without one (see ``best_mode``).

    Args:
        report: The report.
        measure: One of its measures, usually the primary one.
    """
    best = report.best_mode.get(measure)
    if best is None:
        return None
    settled = report.best_mode_significant.get(measure, False)
    significant = {
        entry.contrast if entry.baseline == best else entry.baseline
        for entry in report.comparisons
        if entry.measure == measure
        and entry.significant
        and best in (entry.baseline, entry.contrast)
    }
    others = [mode for mode in report.modes if mode != best and mode not in significant]
    return BestOverall(
        mode=best,
        measure=measure,
        settled=settled,
        not_different=[] if settled else others,
        rule=f"the best mean {measure}; settled if significantly better than every other "
        f"{report.noun}",
    )


def make_verdict(report: ReportFigures, measure: str) -> Verdict | None:
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
    named = baselines_of(report)
    rest, baselines = (
        [mode for mode in means if (mode in named) == is_one] for is_one in (False, True)
    )
    has_baseline = is_ranked and bool(baselines and rest)
    best = choose(rest, key=means.__getitem__) if has_baseline else report.best_mode[measure]
    best = best if best in means else None
    others = baselines if has_baseline else [mode for mode in means if mode != best]
    second = choose(others, key=means.__getitem__) if best and others else None
    entry = report.find_comparison(second, best, measure) if best and second else None
    only = next(iter(results.values())) if len(results) == 1 else None
    is_tie = best is None and is_ranked and bool(means)
    tested = _list_tested(report, measure, second) if has_baseline and second else []
    better = [one for one in tested if one.significant and _is_ahead(report, one)]
    worse = [one for one in tested if one.significant and one not in better and one.difference]
    verdict = Verdict(
        text="",
        measure=measure,
        best=best,
        second=second,
        value=means[best] if best else choose(means.values()) if is_tie else only and only.mean,
        difference=_lead(entry, means[best] - means[second]) if best and second else None,
        ci=entry.ci if entry and entry.difference is not None else only and only.ci,
        p_adjusted=entry and entry.p_adjusted,
        significant=None if entry is None or entry.p_adjusted is None else entry.significant,
        compared=len(tested) if has_baseline else None,
        better=len(better) if has_baseline else None,
        worse=len(worse) if has_baseline else None,
        queries=entry.n if entry else only.n if only else report.manifest.dataset.queries,
        next_steps=list_next_steps(report, measure, entry),
    )
    unscored = [mode.label for mode in report.unscored.values()]
    end = f"; not scored: {join_names(unscored, f'{report.noun}s', _NAMED)}" if unscored else ""
    top = verdict.value or 0.0
    tied = [mode for mode, mean in means.items() if is_tie and abs(mean - top) <= EQUAL]
    text = _describe(report, verdict, tied, _show_interval(verdict.ci, "+", entry))
    return verdict.model_copy(update={"text": f"{text}{end}."})


def _lead(entry: Comparison | None, of_means: float) -> float:
    return of_means if entry is None or entry.difference is None else entry.difference


def _list_tested(report: ReportFigures, measure: str, baseline: str) -> list[Comparison]:
    return [
        one
        for one in report.comparisons
        if (one.baseline, one.measure) == (baseline, measure)
        and one.p_adjusted is not None
        and report.modes[one.contrast].measures[measure].mean is not None
    ]


def _is_ahead(report: ReportFigures, entry: Comparison) -> bool:
    difference = entry.difference or 0.0
    return difference != 0 and (difference > 0) == report.higher_is_better(entry.measure)


def _describe(report: ReportFigures, verdict: Verdict, tied: list[str], interval: str) -> str:
    """Return the sentence of a verdict, without its end."""
    measure, noun, queries = verdict.measure, report.noun, plural(verdict.queries, *_QUERIES)
    if verdict.best is None or verdict.second is None:
        return _describe_without_second(report, verdict, tied)
    best, second = (report.modes[mode].label for mode in (verdict.best, verdict.second))
    lead = f"{_show(verdict.difference, '+')}"
    if verdict.compared is not None:
        relation = "does not differ significantly from"
        if verdict.significant and verdict.difference:
            is_better = (verdict.difference > 0) == report.higher_is_better(measure)
            relation = f"is significantly {'better' if is_better else 'worse'} than"
        text = f"{best} {relation} {second} on {measure} with {queries}: "
        text += f"{_show(verdict.value)}, {lead}{interval}"
        if verdict.compared == 1:
            return text
        return f"{text}; {verdict.better} of {plural(verdict.compared, noun)} " + (
            f"are significantly better and {verdict.worse} worse"
        )
    overall = find_best_overall(report, measure)
    is_settled = overall is not None and overall.settled
    unproven = "scores highest" if report.higher_is_better(measure) else "scores lowest (best)"
    text = f"{best} {'is best' if is_settled else unproven} on {measure}: {_show(verdict.value)}, "
    text += f"{lead} over {second}{interval}; "
    if verdict.significant is None:
        return f"{text}this difference was not tested"
    others = [mode for mode in (overall.not_different if overall else ()) if mode != verdict.second]
    against = f"against every other {report.noun} " if is_settled and len(report.modes) > 2 else ""
    text += f"{'' if verdict.significant else 'not '}significant {against}with {queries}"
    return text + (f", but not against {_join(report, others)}" if verdict.significant and others
                   else "")  # fmt: skip


def _describe_without_second(report: ReportFigures, verdict: Verdict, tied: list[str]) -> str:
    measure, queries = verdict.measure, plural(verdict.queries, *_QUERIES)
    if verdict.best is not None:
        label, noun = report.modes[verdict.best].label, report.noun
        return f"{label} is the only {noun} with a mean on {measure}: {_show(verdict.value)}"
    if len(report.modes) == 1 and verdict.value is not None:
        return (
            f"{_join(report, [*report.modes])} has a mean of {_show(verdict.value)}"
            f"{_show_interval(verdict.ci)} on {measure} over {queries}"
        )
    if all(one.measures[measure].mean is None for one in report.modes.values()):
        return f"{measure} is undefined for every {report.noun}"
    if not tied:
        why = "the means are over different queries"
        return f"The {report.noun}s are not ranked on {measure}, because {why}"
    best = "" if len(tied) == len(report.modes) else "best "
    value = _show(verdict.value)
    return f"{_join(report, tied)} have the same {best}mean on {measure}: {value} with {queries}"


def baselines_of(report: ReportFigures) -> list[str]:
    """Return the modes that the others are compared with; empty if every pair is compared."""
    return [mode for mode in report.manifest.config.get("baseline") or () if mode in report.modes]


def add_result(report: AnyReport) -> AnyReport:
    """Return the report with its result, and with primary and headline measures if it lacks them.

    Args:
        report: The report.
    """
    measure = report.primary_measure or choose_primary(report)
    headlines = report.headline_measures or choose_headlines(report, measure)
    named = report.model_copy(update={"primary_measure": measure, "headline_measures": headlines})
    overall, verdict = find_best_overall(named, measure), make_verdict(named, measure)
    return named.model_copy(update={"best_overall": overall, "verdict": verdict})


def _is_over_terms(config: Mapping[str, Any]) -> bool:
    return config.get("dataset") == "hpo" or config.get("ontology") is not None


def _join(report: ReportFigures, modes: Sequence[str]) -> str:
    return join_names([report.modes[mode].label for mode in modes], f"{report.noun}s", _NAMED)


def list_next_steps(
    report: ReportFigures, measure: str, entry: Comparison | None = None
) -> list[str]:
    """List what to look at next, a sentence each: power, failing queries.

    Args:
        report: The report.
        measure: The measure of the verdict.
        entry: The comparison that the verdict is about.
    """
    steps = []
    if entry and entry.n > 1 and entry.changed < FEW:
        few = " Fewer than a significant difference needs." if entry.reason == "few_changed" else ""
        steps.append(f"{entry.changed} of {plural(entry.n, *_QUERIES)} differ on {measure}.{few}")
    if entry and not entry.significant and entry.detectable_difference is not None:
        steps.append(
            f"With {plural(entry.n, *_QUERIES)}, a true difference of "
            f"{_show(entry.detectable_difference)} between {_join(report, [entry.contrast])} and "
            f"{_join(report, [entry.baseline])} on {measure} is detected in at least 80 of 100 "
            "cases."
        )
    if failing := report.failing_queries:
        of_all, ids = plural(report.manifest.dataset.queries, *_QUERIES), [
            query.query_id for query in failing
        ]  # fmt: skip
        steps.append(
            f"Value 0 on {failing[0].measure}: {len(failing):,} of {of_all}: {listed(ids)}."
        )
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
