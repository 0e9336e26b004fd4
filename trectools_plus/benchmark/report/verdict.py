"""The result of a benchmark in one sentence: the best mode on the primary measure.

Everything here is computed from the report alone, so it can be computed again from a report that
was read, also from one of schema version 1.0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from trectools_plus.benchmark.report.figures import BestOverall, ModeResult, ReportFigures, Verdict
from trectools_plus.choices import DEFAULT_MEASURES, MOST_HEADLINES
from trectools_plus.statistics.comparison import Comparison, ConfidenceInterval
from trectools_plus.statistics.method import EQUAL, FEW
from trectools_plus.text import join_names, listed, plural

AnyReport = TypeVar("AnyReport", bound=ReportFigures)
_PRIMARY = "nDCG@10"
_PRIMARY_OF_TERMS = "RR"
_HEADLINES_OF_TERMS = ("RR", "HitRate@1", "HitRate@10", "nDCG@10", "R@10", "MaxOntSim@10")
_FEW_JUDGED = 0.5
_NAMED = 3
"""With more modes than this, a sentence gives only their number."""


class _Lead(NamedTuple):
    """The difference of the best mode from another one."""

    second: str
    difference: float | None
    ci: ConfidenceInterval | None
    entry: Comparison | None


class _Statement(NamedTuple):
    """A sentence on a measure, and the figures in it; see :class:`Verdict`."""

    text: str
    best: str | None = None
    lead: _Lead | None = None
    value: float | None = None
    ci: ConfidenceInterval | None = None
    queries: int | None = None
    counts: tuple[int, int, int] | None = None


def choose_primary(report: ReportFigures) -> str:
    """Return the primary measure: the configured one, or the default one that the report has.

    Without a name, it is the first named measure with a mean. The default is RR for terms of an
    ontology, otherwise nDCG@10; if the report does not have it, its first measure. Empty if the
    report has no measures.
    """
    sums = [name for name in report.measure_names if report.is_sum(name)]
    return find_primary(report.manifest.config, report.canonical_names, sums)


def find_primary(config: Mapping[str, Any], names: Mapping[str, str], sums: Collection[str]) -> str:
    """Return the primary measure; see :func:`choose_primary`.

    Args:
        config: The configuration, as in a manifest.
        names: The canonical name of each measure by its name as requested.
        sums: The measures, as requested, that have sums instead of means.
    """
    from trectools_plus.measures.parser import match_name

    chosen = match_name(config.get("primary_measure") or "", names)
    if chosen is not None:
        return chosen
    default = _PRIMARY_OF_TERMS if _is_over_terms(config) else _PRIMARY
    wanted = (*(config.get("headline_measures") or ()), default)
    known = [name for name in (match_name(name, names) for name in wanted) if name is not None]
    means = (name for name in (*known, *names) if name not in sums)
    return next(means, next(iter(names), ""))


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


def make_verdict(
    report: ReportFigures, measure: str, overall: BestOverall | None = None
) -> Verdict | None:
    """Return the result on a measure; ``None`` if the report has no modes or not this measure.

    Args:
        report: The report.
        measure: One of its measures, usually the primary one.
        overall: The best mode on it; from :func:`find_best_overall` when not given.
    """
    if not report.modes or measure not in report.best_mode:
        return None
    stated = _state(report, measure, overall or find_best_overall(report, measure))
    lead, value, ci, queries = stated.lead, stated.value, stated.ci, stated.queries
    entry = None if lead is None else lead.entry
    if lead is not None and stated.best is not None:
        value, ci = report.modes[stated.best].measures[measure].mean, lead.ci
        queries = None if entry is None else entry.n
    compared, better, worse = stated.counts or (None, None, None)
    p_adjusted = None if entry is None else entry.p_adjusted
    return Verdict(
        text=f"{stated.text}{_describe_unscored(report)}.",
        measure=measure,
        best=stated.best,
        second=None if lead is None else lead.second,
        value=value,
        difference=None if lead is None else lead.difference,
        ci=ci,
        p_adjusted=p_adjusted,
        significant=None if entry is None or p_adjusted is None else entry.significant,
        compared=compared,
        better=better,
        worse=worse,
        queries=report.manifest.dataset.queries if queries is None else queries,
        next_steps=list_next_steps(report, measure, entry),
    )


def _state(report: ReportFigures, measure: str, overall: BestOverall | None) -> _Statement:
    """State the result on a measure."""
    means = {mode: result.measures[measure].mean for mode, result in report.modes.items()}
    defined = {mode: mean for mode, mean in means.items() if mean is not None}
    ranked = measure not in report.unranked and not report.is_sum(measure)
    choose = max if report.higher_is_better(measure) else min
    baselines = [mode for mode in baselines_of(report) if mode in defined]
    rest = [mode for mode in defined if mode not in baselines_of(report)]
    if ranked and baselines and rest:
        baseline, best = (choose(modes, key=defined.__getitem__) for modes in (baselines, rest))
        return _state_against(
            report, measure, best, _lead_over(report, measure, (best, baseline), defined)
        )
    if len(report.modes) == 1:
        (only,) = report.modes.values()
        figures = only.measures[measure]
        return _Statement(
            _describe_only(report, only, measure),
            value=figures.mean,
            ci=figures.ci,
            queries=figures.n,
        )
    if not defined:
        return _Statement(f"{measure} is undefined for every {report.noun}")
    if overall is not None and overall.mode in defined:
        others = {mode: mean for mode, mean in defined.items() if mode != overall.mode}
        second = choose(others, key=others.__getitem__) if others else None
        lead = None
        if second is not None:
            lead = _lead_over(report, measure, (overall.mode, second), defined)
        text = _describe_best(report, overall, lead)
        return _Statement(text, overall.mode, lead, defined[overall.mode])
    if not ranked:
        return _Statement(_describe_unranked(report, measure))
    top = choose(defined.values())
    return _Statement(_describe_tie(report, measure, defined, top), value=top)


def _lead_over(
    report: ReportFigures, measure: str, modes: tuple[str, str], means: Mapping[str, float]
) -> _Lead:
    """Return the difference of the first mode from the second one."""
    best, second = modes
    entry = report.find_comparison(second, best, measure)
    if entry is not None and entry.difference is not None:
        return _Lead(second, entry.difference, entry.ci, entry)
    return _Lead(second, means[best] - means[second], None, entry)


def _state_against(report: ReportFigures, measure: str, best: str, lead: _Lead) -> _Statement:
    """State the result of the comparisons with the best baseline."""
    tested = [
        one
        for one in report.comparisons
        if (one.baseline, one.measure) == (lead.second, measure)
        and one.p_adjusted is not None
        and report.modes[one.contrast].measures[measure].mean is not None
    ]
    signs = [
        (one.difference > 0) == report.higher_is_better(measure)
        for one in tested
        if one.significant and one.difference
    ]
    better, entry, baseline = sum(signs), lead.entry, _label(report, lead.second)
    worse = len(signs) - better
    on = f"on {measure}"
    if entry is not None:
        on += f" with {plural(entry.n, 'query', 'queries')}"
    figures = f"{_show(lead.difference, '+')}{_show_interval(lead.ci, '+', entry)}"
    if len(tested) == 1:
        relation = "does not differ significantly from"
        if signs:
            relation = f"is significantly {'better' if better else 'worse'} than"
        mean = _show(report.modes[best].measures[measure].mean)
        text = f"{_label(report, best)} {relation} {baseline} {on}: {mean}, {figures}"
    else:
        of_all = f"{better or 'None'} of {plural(len(tested), report.noun)}"
        text = f"{of_all} {'is' if better < 2 else 'are'} significantly better than {baseline}"
        text += f" and {worse} worse" if worse else ""
        text += f" {on}; the best is {_label(report, best)}, {figures}"
        text += " (not significant)" if entry is not None and not entry.significant else ""
    return _Statement(text, best, lead, counts=(len(tested), better, worse))


def baselines_of(report: ReportFigures) -> list[str]:
    """Return the modes that the others are compared with; empty if every pair is compared."""
    return [mode for mode in report.manifest.config.get("baseline") or () if mode in report.modes]


def add_result(report: AnyReport) -> AnyReport:
    """Return the report with its best mode overall and its verdict computed.

    Args:
        report: The report, with its primary measure.
    """
    overall = find_best_overall(report, report.primary_measure)
    verdict = make_verdict(report, report.primary_measure, overall)
    return report.model_copy(update={"best_overall": overall, "verdict": verdict})


def _is_over_terms(config: Mapping[str, Any]) -> bool:
    return config.get("dataset") == "hpo" or config.get("ontology") is not None


def _label(report: ReportFigures, mode: str) -> str:
    return report.modes[mode].label


def _join(report: ReportFigures, modes: Sequence[str]) -> str:
    return join_names([_label(report, mode) for mode in modes], f"{report.noun}s", _NAMED)


def _describe_only(report: ReportFigures, only: ModeResult, measure: str) -> str:
    figures = only.measures[measure]
    over = f"over {plural(figures.n, 'query', 'queries')}"
    if figures.mean is None:
        return f"{measure} is undefined for {only.label}"
    kind = "a sum of" if report.is_sum(measure) else "a mean of"
    interval = _show_interval(figures.ci)
    return f"{only.label} has {kind} {_show(figures.mean)}{interval} on {measure} {over}"


def _describe_unranked(report: ReportFigures, measure: str) -> str:
    is_sum = report.is_sum(measure)
    why = "it is a sum over the queries" if is_sum else "the means are over different queries"
    return f"The {report.noun}s are not ranked on {measure}, because {why}"


def _describe_tie(report: ReportFigures, measure: str, means: dict[str, float], top: float) -> str:
    tied = [mode for mode, mean in means.items() if abs(mean - top) <= EQUAL]
    number = plural(report.manifest.dataset.queries, "query", "queries")
    best = "" if len(tied) == len(report.modes) else "best "
    return (
        f"{_join(report, tied)} have the same {best}mean on {measure}: {_show(top)} with {number}"
    )


def _describe_best(report: ReportFigures, overall: BestOverall, lead: _Lead | None) -> str:
    measure = overall.measure
    value = report.modes[overall.mode].measures[measure].mean
    higher = report.higher_is_better(measure)
    unproven = "scores highest" if higher else "scores lowest (best)"
    verb = "is best" if overall.settled else unproven
    text = f"{_label(report, overall.mode)} {verb} on {measure}: {_show(value)}"
    if lead is None or lead.difference is None:
        return f"{text}; no other {report.noun} has a mean on {measure}"
    sign = "over" if higher else "against"
    text += f", {_show(lead.difference, '+')} {sign} {_label(report, lead.second)}"
    text += _show_interval(lead.ci, "+", lead.entry)
    return f"{text}; {_describe_significance(report, overall, lead)}"


def _describe_significance(report: ReportFigures, overall: BestOverall, lead: _Lead) -> str:
    """Describe the test of the lead, and of the differences from the other modes."""
    entry = lead.entry
    if entry is None or entry.p_adjusted is None:
        return "this difference was not tested"
    number = plural(entry.n, "query", "queries")
    others = [mode for mode in report.modes if mode not in (overall.mode, lead.second)]
    unproven = [mode for mode in others if mode in overall.not_different]
    if overall.settled:
        against = f" against every other {report.noun}" if others else ""
        return f"significant{against} with {number}"
    if entry.significant:
        but = f", but not against {_join(report, unproven)}" if unproven else ""
        return f"significant with {number}{but}"
    return f"not significant with {number}"


def _describe_unscored(report: ReportFigures) -> str:
    """Name the modes without figures, as the end of a sentence."""
    labels = [mode.label for mode in report.unscored.values()]
    if not labels:
        return ""
    return f"; not scored: {join_names(labels, f'{report.noun}s', _NAMED)}"


def list_next_steps(
    report: ReportFigures, measure: str, entry: Comparison | None = None
) -> list[str]:
    """List what to look at next, a sentence each: judgments, power, failing queries.

    Args:
        report: The report.
        measure: The measure of the verdict.
        entry: The comparison that the verdict is about.
    """
    steps = describe_judged(report)
    if entry and entry.n > 1 and entry.changed < FEW:
        few = " Fewer than a significant difference needs." if entry.reason == "few_changed" else ""
        queries = plural(entry.n, "query", "queries")
        steps.append(f"{entry.changed} of {queries} differ on {measure}.{few}")
    # In reports of schema version 1.0, it is that of one uncorrected t-test.
    known = report.schema_version != "1.0"
    if entry and known and not entry.significant and entry.detectable_difference is not None:
        pair = f"{_label(report, entry.contrast)} and {_label(report, entry.baseline)}"
        steps.append(
            f"With {plural(entry.n, 'query', 'queries')}, a true difference of "
            f"{_show(entry.detectable_difference)} between {pair} on {measure} is detected in at "
            "least 80 of 100 cases."
        )
    failing = report.failing_queries
    if failing:
        of_all = plural(report.manifest.dataset.queries, "query", "queries")
        score = "scores" if len(failing) == 1 else "score"
        ids = listed([query.query_id for query in failing])
        steps.append(f"{len(failing):,} of {of_all} {score} 0 on {failing[0].measure}: {ids}.")
    return steps


def describe_judged(report: ReportFigures) -> list[str]:
    """Return a sentence if less than half of a mode's first ten documents is judged, else nothing.

    Args:
        report: The report; without ``pool``, there is no sentence.
    """
    pool = report.pool
    if pool is None:
        return []
    shares = {
        mode: one.judged
        for mode, one in pool.modes.items()
        if one.judged is not None and one.judged < _FEW_JUDGED
    }
    if not shares:
        return []
    low, high = (f"{end:.0%}" for end in (min(shares.values()), max(shares.values())))
    named = f"{_join(report, [*shares])} {low}" + ("" if low == high else f" to {high}")
    return [
        f"Less than half of the first ten documents is judged ({named}), and unjudged documents "
        "count as not relevant."
    ]


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
    decimals = 4 if any(0 < abs(end) < 0.0005 for end in (ci.low, ci.high)) else 3
    low, high = (f"{end:{sign},.{decimals}f}".replace("-", "−") for end in (ci.low, ci.high))
    label = "" if entry is None or entry.has_own_level else ", unadjusted"
    return f" [{low}, {high}{label}]"
