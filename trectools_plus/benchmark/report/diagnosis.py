"""Patterns in a benchmark's figures, each with a suggestion.

"Low" is below the measure's baseline target, "high" is at least its competitive target, so the
patterns agree with the table of targets. A measure without a target is neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trectools_plus.benchmark.report import Comparison, Diagnosis, MeasureResult, ModeResult
from trectools_plus.benchmark.report.parts import ends_of

_LOW_JUDGED = 0.8
_REACHED = ("competitive", "strong")
_FAMILIES = {
    "ndcg": ("nDCG",),
    "precision": ("P", "RR"),
    "first_hit": ("RR",),
    "recall": ("R",),
    "hit": ("HitRate", "Success"),
}
"""The measures of each pattern, named without parameters and cutoff.

If ``P@k`` is not among the measures, ``RR@k`` is used as precision.
"""


def diagnose(
    modes: Mapping[str, ModeResult],
    comparisons: Sequence[Comparison],
    measure: str,
    *,
    pooled: bool,
) -> list[Diagnosis]:
    """Find the patterns, mode by mode and then between modes.

    Args:
        modes: Results by mode, in the order of the report.
        comparisons: Paired differences between them.
        measure: The primary measure, on which fusions are compared with their components.
        pooled: True if the qrels contain documents that are judged as not relevant. If they
            contain only relevant ones, unjudged documents are not a problem.
    """
    found = [item for mode, result in modes.items() for item in _diagnose_mode(mode, result)]
    found += _diagnose_fusion(modes, comparisons, measure)
    return [*found, *_diagnose_judged(modes)] if pooled else found


def _diagnose_mode(mode: str, result: ModeResult) -> Iterator[Diagnosis]:
    if result.status == "empty":
        yield Diagnosis(
            mode=mode,
            sign="nothing-found",
            observed="nothing was found for any query",
            suggests="no word of the queries is a term of the index: look at the language of both, "
            "at stemming and stop words, and at what of the documents is indexed",
        )
        return
    precision = _choose_measure(result, "precision")
    recall = _choose_measure(result, "recall", deepest=True)
    if _is_high(precision) and _is_low(recall):
        yield Diagnosis(
            mode=mode,
            sign="high-precision-low-recall",
            observed=f"high precision ({_show(precision)}) with low recall ({_show(recall)})",
            suggests="what is found is ranked well, but many relevant documents are never found: "
            "widen the pool (another mode beside this one, query expansion, synonyms, stemming)",
        )
    elif _is_low(recall):
        yield Diagnosis(
            mode=mode,
            sign="low-recall",
            observed=f"low recall ({_show(recall)})",
            suggests="relevant documents are missing from the pool, and no re-ranking brings "
            "them back: look at tokenisation, vocabulary mismatch and the indexed fields first",
        )
    yield from _diagnose_order(mode, result, recall)
    yield from _diagnose_unproven_targets(mode, result)


def _diagnose_order(
    mode: str, result: ModeResult, recall: tuple[str, MeasureResult] | None
) -> Iterator[Diagnosis]:
    first, hit, ndcg = (_choose_measure(result, family) for family in ("first_hit", "hit", "ndcg"))
    if _is_low(first):
        reached = hit is not None and not _is_low(hit)
        yield Diagnosis(
            mode=mode,
            sign="low-reciprocal-rank",
            observed=f"low reciprocal rank ({_show(first)})"
            + (f" though {_show(hit)} is not low" if reached else ""),
            suggests="a relevant document is among the first ten, only not at the top: re-rank "
            "the first results, or weigh titles and exact matches more"
            if reached
            else "many queries have no relevant document near the top: read the failing queries "
            "below before tuning anything",
        )
    if _is_low(ndcg):
        found = recall is not None and not _is_low(recall)
        yield Diagnosis(
            mode=mode,
            sign="low-ndcg",
            observed=f"low nDCG ({_show(ndcg)})"
            + (f" though {_show(recall)} is not low" if found else ""),
            suggests="the relevant documents are found, but too far down or in the wrong order "
            "of grades: a re-ranker or other fusion weights have most to gain"
            if found
            else "relevant documents are too few or too far down: raise recall first, then "
            "look at the order",
        )


def _diagnose_unproven_targets(mode: str, result: ModeResult) -> Iterator[Diagnosis]:
    """Report targets that the mean reaches and the interval does not, in one entry."""
    unproven = [
        f"{name} {figures.mean:.4f} against {target.competitive:g}, interval "
        f"{'from' if figures.definition.direction_of(name) else 'to'} {worse:.4f}"
        for name, figures in result.measures.items()
        if (target := figures.target) is not None
        and (worse := _worse_end(name, figures)) is not None
        if target.status in _REACHED and target.status_low not in (None, *_REACHED)
    ]
    if unproven:
        yield Diagnosis(
            mode=mode,
            sign="target-unproven",
            observed=f"above the target, but the interval reaches below it ({'; '.join(unproven)})",
            suggests="these queries do not show that the target is reached",
        )


def _worse_end(name: str, figures: MeasureResult) -> float | None:
    low, high = ends_of(figures.ci)
    return low if figures.definition.direction_of(name) else high


def _diagnose_judged(modes: Mapping[str, ModeResult]) -> Iterator[Diagnosis]:
    """Report modes with unjudged top results, in one entry."""
    low = {
        result.label: (name, share)
        for result in modes.values()
        for name, share in result.diagnostics.judged.items()
        if share is not None and share < _LOW_JUDGED
    }
    if low:
        seen = ", ".join(f"{label} {share:.0%}" for label, (_, share) in low.items())
        name = next(iter(low.values()))[0]
        yield Diagnosis(
            mode=None,
            sign="few-judged",
            observed=f"many of the first results have no judgment ({name}: {seen})",
            suggests="unjudged documents count as not relevant, so the figures are lower bounds, "
            "and a run that shaped the pool has an advantage: judge the top results of the others",
        )


def _diagnose_fusion(
    modes: Mapping[str, ModeResult], comparisons: Sequence[Comparison], measure: str
) -> Iterator[Diagnosis]:
    """Report modes that hybrid loses against or does not significantly improve on."""
    if "hybrid" not in modes:
        return
    for entry in comparisons:
        if entry.measure != measure or entry.difference is None:
            continue
        if "hybrid" not in (entry.baseline, entry.contrast):
            continue
        change = entry.difference if entry.contrast == "hybrid" else -entry.difference
        definition = modes["hybrid"].measures[entry.measure].definition
        gain = change if definition.direction_of(entry.measure) else -change
        other = modes[entry.baseline if entry.contrast == "hybrid" else entry.contrast].label
        size = f"{abs(change):.4f} {'below' if change < 0 else 'above'} {other}"
        counts = {
            modes[mode].measures[entry.measure].n for mode in (entry.baseline, entry.contrast)
        }
        over = "" if counts == {entry.n} else f" over the {entry.n} queries that both define"
        if gain < 0:
            yield Diagnosis(
                mode="hybrid",
                sign="fusion-loses",
                observed=f"{measure} is {size} alone{over}"
                + ("" if entry.significant else ", though not significantly"),
                suggests="the weaker component pulls the fusion down: weigh it less, or fuse "
                "fewer of its results",
            )
        elif not entry.significant:
            yield Diagnosis(
                mode="hybrid",
                sign="fusion-gain-unproven",
                observed=f"{measure} is {size}{over}, though not significantly",
                suggests="these queries do not show that fusing helps",
            )


def _choose_measure(
    result: ModeResult, family: str, *, deepest: bool = False
) -> tuple[str, MeasureResult] | None:
    """Return the first measure of the family with a target, or the one with the deepest cutoff."""
    for label in _FAMILIES[family]:
        named = [
            (name, figures)
            for name, figures in result.measures.items()
            if (figures.definition.name or name).partition("@")[0] == label
            and figures.target is not None
        ]
        if named:
            return (
                max(named, key=lambda item: item[1].definition.cutoff or 0) if deepest else named[0]
            )
    return None


def _is_low(found: tuple[str, MeasureResult] | None) -> bool:
    return _status(found) == "below_baseline"


def _is_high(found: tuple[str, MeasureResult] | None) -> bool:
    return _status(found) in _REACHED


def _status(found: tuple[str, MeasureResult] | None) -> str | None:
    return found[1].target.status if found is not None and found[1].target is not None else None


def _show(found: tuple[str, MeasureResult] | None) -> str:
    if found is None or found[1].mean is None:
        return "undefined"
    target = found[1].target
    text = f"{found[0]} {found[1].mean:.4f}"
    if target is None or target.status != "below_baseline":
        return text
    reaches = target.status_high not in (None, "below_baseline")
    return f"{text}, though the interval reaches the baseline" if reaches else text
