"""The result of a benchmark in one sentence: the best mode on the primary measure.

Everything here is computed from the report alone, so it can be computed again from a report that
was read, also from one of schema version 1.0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from trectools_plus.benchmark.report.figures import BestOverall, ReportFigures, Verdict
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
    means = {mode: result.measures[measure].mean for mode, result in report.modes.items()}
    defined = {mode: mean for mode, mean in means.items() if mean is not None}
    ranked = measure not in report.unranked and not report.is_sum(measure)
    against = _find_lead_over_baseline(report, measure, defined) if ranked else None
    if against is not None:
        return _state_against(report, measure, *against)
    if overall is None:
        overall = find_best_overall(report, measure)
    value, ci, queries = None, None, report.manifest.dataset.queries
    if len(report.modes) == 1:
        only = next(iter(report.modes.values())).measures[measure]
        value, ci, queries = only.mean, only.ci, only.n
        text = _describe_only(report, measure)
    elif not defined:
        text = f"{measure} is undefined for every {report.noun}"
    elif overall is not None:
        lead = _find_lead(report, overall)
        text = _describe_best(report, overall, lead)
        if lead is not None:
            return _state(report, measure, overall.mode, lead, text)
        value = means[overall.mode]
    elif not ranked:
        text = _describe_unranked(report, measure, defined)
    else:
        value = (max if report.higher_is_better(measure) else min)(defined.values())
        text = _describe_tie(report, measure, defined, value)
    return Verdict(
        text=f"{text}{_describe_unscored(report)}.",
        measure=measure,
        best=None if overall is None else overall.mode,
        second=None,
        value=value,
        difference=None,
        ci=ci,
        p_adjusted=None,
        significant=None,
        queries=queries,
        next_steps=list_next_steps(report, measure),
    )


def _state(report: ReportFigures, measure: str, best: str, lead: _Lead, text: str) -> Verdict:
    """Return the verdict that a mode is ahead of another one."""
    entry = lead.entry
    tested = entry is not None and entry.p_adjusted is not None
    return Verdict(
        text=f"{text}{_describe_unscored(report)}.",
        measure=measure,
        best=best,
        second=lead.second,
        value=report.modes[best].measures[measure].mean,
        difference=lead.difference,
        ci=lead.ci,
        p_adjusted=None if entry is None else entry.p_adjusted,
        significant=entry.significant if tested and entry is not None else None,
        queries=report.manifest.dataset.queries if entry is None else entry.n,
        next_steps=list_next_steps(report, measure, entry),
    )


def _find_lead_over_baseline(
    report: ReportFigures, measure: str, means: Mapping[str, float]
) -> tuple[str, _Lead] | None:
    """Return the best mode and its lead over the best baseline; ``None`` without baselines.

    Reports of versions before 0.2 have a best mode despite a baseline, and get its verdict.
    """
    named = baselines_of(report)
    baselines = [mode for mode in named if mode in means]
    rest = [mode for mode in means if mode not in named]
    if report.best_mode.get(measure) is not None or not baselines or not rest:
        return None
    choose = max if report.higher_is_better(measure) else min
    baseline, best = (choose(modes, key=means.__getitem__) for modes in (baselines, rest))
    entry = report.find_comparison(baseline, best, measure)
    if entry is None or entry.difference is None:
        return best, _Lead(baseline, means[best] - means[baseline], None, entry)
    return best, _Lead(baseline, entry.difference, entry.ci, entry)


def _state_against(report: ReportFigures, measure: str, best: str, lead: _Lead) -> Verdict:
    """Return the result of the comparisons with the best baseline."""
    baselines = [
        mode
        for mode in baselines_of(report)
        if report.modes[mode].measures[measure].mean is not None
    ]
    tested = [
        one
        for one in report.comparisons
        if (one.baseline, one.measure) == (lead.second, measure)
        and one.p_adjusted is not None
        and report.modes[one.contrast].measures[measure].mean is not None
    ]
    if len(tested) == 1 and len(baselines) == 1:
        text = _describe_pair(report, best, lead, measure)
    else:
        text = _describe_against(report, (best, baselines), lead, measure)
    better, worse = _count_significant(report, tested)
    counts = {"compared": len(tested), "better": better, "worse": worse}
    return _state(report, measure, best, lead, text).model_copy(update=counts)


def baselines_of(report: ReportFigures) -> list[str]:
    """Return the modes that the others are compared with; empty if every pair is compared."""
    return [mode for mode in report.manifest.config.get("baseline") or () if mode in report.modes]


def _count_significant(report: ReportFigures, entries: Sequence[Comparison]) -> tuple[int, int]:
    """Return the numbers of contrasts that are significantly better, and worse."""
    better = [
        (one.difference > 0) == report.higher_is_better(one.measure)
        for one in entries
        if one.significant and one.difference
    ]
    return sum(better), len(better) - sum(better)


def _describe_pair(report: ReportFigures, mode: str, lead: _Lead, measure: str) -> str:
    """Describe the comparison of the only other mode with the only baseline."""
    names = _label(report, mode), _label(report, lead.second)
    value = report.modes[mode].measures[measure].mean
    entry, difference = lead.entry, lead.difference or 0.0
    word = "better" if (difference > 0) == report.higher_is_better(measure) else "worse"
    if abs(difference) <= EQUAL:
        number = plural(entry.n if entry else 0, "query", "queries")
        both = f"{names[0]} and {names[1]} have the same mean on {measure}"
        return f"{both}: {_show(value)} with {number}"
    assert entry is not None
    text = f"{_show(value)}, {_show(difference, '+')}{_show_interval(lead.ci, '+', entry)}"
    number = plural(entry.n, "query", "queries")
    if entry.significant:
        relation = f"is significantly {word} than"
    else:
        relation = "does not differ significantly from"
    return f"{names[0]} {relation} {names[1]} on {measure} with {number}: {text}"


def _describe_against(
    report: ReportFigures, modes: tuple[str, Sequence[str]], lead: _Lead, measure: str
) -> str:
    """Describe the comparisons of several modes with the baselines.

    Args:
        report: The report.
        modes: The best of the other modes, and the baselines.
        lead: The difference of the best mode from the best baseline.
        measure: The measure.
    """
    best, baselines = modes
    parts = []
    for baseline in baselines:
        entries = [
            one
            for one in report.comparisons
            if (one.baseline, one.measure) == (baseline, measure) and one.p_adjusted is not None
        ]
        better, worse = _count_significant(report, entries)
        of_all = f"{better or 'none'} of {plural(len(entries), report.noun)}"
        verb = "is" if better < 2 else "are"
        part = f"{of_all} {verb} significantly better than {_label(report, baseline)}"
        parts.append(part + (f" and {worse} worse" if worse else ""))
    text = "; ".join(parts[:_NAMED])
    text = f"{text[:1].upper()}{text[1:]} on {measure}"
    number = plural(lead.entry.n, "query", "queries") if lead.entry else ""
    over = f" over {_label(report, lead.second)}" if len(baselines) > 1 else ""
    shown = f"{_show(lead.difference, '+')}{over}{_show_interval(lead.ci, '+', lead.entry)}"
    text += f"{' with ' if number else ''}{number}; the best is {_label(report, best)}, {shown}"
    if lead.entry is not None and not lead.entry.significant:
        text += " (not significant)"
    return text


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


def _find_lead(report: ReportFigures, overall: BestOverall) -> _Lead | None:
    """Return the difference of the best mode from the next one, or from the best baseline."""
    best, measure = overall.mode, overall.measure
    baselines = baselines_of(report)  # in reports of versions before 0.2
    others = [mode for mode in report.modes if mode != best]
    if best in baselines:
        others = [mode for mode in others if mode not in baselines]
    elif baselines:
        others = [mode for mode in others if mode in baselines]
    means = {mode: report.modes[mode].measures[measure].mean for mode in others}
    defined = {mode: mean for mode, mean in means.items() if mean is not None}
    if not defined:
        return None
    second = (max if report.higher_is_better(measure) else min)(defined, key=defined.__getitem__)
    entry = report.find_comparison(second, best, measure)
    if entry is None or entry.difference is None:
        value = report.modes[best].measures[measure].mean
        difference = None if value is None else value - defined[second]
        return _Lead(second, difference, None, None)
    return _Lead(second, entry.difference, entry.ci, entry)


def _describe_only(report: ReportFigures, measure: str) -> str:
    (only,) = report.modes.values()
    figures = only.measures[measure]
    over = f"over {plural(figures.n, 'query', 'queries')}"
    if figures.mean is None:
        return f"{measure} is undefined for {only.label}"
    kind = "a sum of" if report.is_sum(measure) else "a mean of"
    interval = _show_interval(figures.ci)
    return f"{only.label} has {kind} {_show(figures.mean)}{interval} on {measure} {over}"


def _describe_unranked(report: ReportFigures, measure: str, means: dict[str, float]) -> str:
    is_sum = report.is_sum(measure)
    why = "it is a sum over the queries" if is_sum else "the means are over different queries"
    start = f"The {report.noun}s are not ranked on {measure}, because {why}"
    if len(means) > _NAMED:
        return start
    shown = (
        f"{_label(report, mode)} {_show(mean)}"
        + ("" if is_sum else f" over {report.modes[mode].measures[measure].n:,}")
        for mode, mean in means.items()
    )
    return f"{start}: {', '.join(shown)}"


def _describe_tie(report: ReportFigures, measure: str, means: dict[str, float], top: float) -> str:
    tied = [mode for mode, mean in means.items() if abs(mean - top) <= EQUAL]
    number = plural(report.manifest.dataset.queries, "query", "queries")
    if len(tied) == len(report.modes):
        who = f"{'Both' if len(tied) == 2 else 'All'} {report.noun}s"
        return f"{who} have the same mean on {measure}: {_show(top)} with {number}"
    extreme = "highest" if report.higher_is_better(measure) else "lowest (best)"
    return (
        f"{_join(report, tied)} tie for the {extreme} mean on {measure}: {_show(top)} with {number}"
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
    baselines = report.manifest.config.get("baseline") or ()
    role = "the baseline " if lead.second in baselines else ""
    text += f", {_show(lead.difference, '+')} {sign} {role}{_label(report, lead.second)}"
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
    verb = "was" if len(labels) == 1 else "were"
    return f"; {join_names(labels, f'{report.noun}s', _NAMED)} {verb} not scored"


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
        where = (
            f"in every {report.noun}"
            if len(report.modes) > 1
            else f"in {next(iter(report.modes.values())).label}"
        )
        ids = listed([query.query_id for query in failing])
        steps.append(
            f"{len(failing):,} of {of_all} {score} 0 on {failing[0].measure} {where}: {ids}."
        )
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
    if len(shares) <= _NAMED:
        listed = ", ".join(f"{_label(report, mode)} {share:.0%}" for mode, share in shares.items())
    else:
        low, high = (f"{end:.0%}" for end in (min(shares.values()), max(shares.values())))
        listed = f"{len(shares)} {report.noun}s {low}" + ("" if low == high else f" to {high}")
    text = f"Less than half of the first ten documents is judged ({listed})"
    mode = report.best_mode.get(pool.measure) or next(iter(shares))
    found = pool.modes[mode]
    higher = report.higher_is_better(pool.measure)
    end = found.high if higher else found.low
    if end is None:
        return [f"{text}, and unjudged documents count as not relevant."]
    reach = "as high as" if higher else "as low as"
    return [
        f"{text}: {pool.measure} of {_label(report, mode)} would be {reach} {_show(end)} instead "
        f"of {_show(found.score)} if the unjudged documents were relevant."
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
