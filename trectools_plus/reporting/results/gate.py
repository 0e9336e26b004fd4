"""The result of a gate: blocks for a pull request and the terminal, and JSON."""

from __future__ import annotations

from typing import Any

from trectools_plus.benchmark.gate import GateEntry, GateResult, GateRules
from trectools_plus.reporting.document import (
    Block,
    Bullets,
    Fold,
    Heading,
    Paragraph,
    markdown,
    table_of,
)
from trectools_plus.reporting.wording import describe_method, name_test, show, show_p
from trectools_plus.statistics.arrays import EQUAL
from trectools_plus.statistics.comparison import ends_of
from trectools_plus.text import plural, visible

MARKER = "<!-- trectools-plus benchmark gate -->"
"""The first line of the comment, which identifies it."""
_RULES = ("max_drop", "absolute", "require_significant", "non_inferior")
_ENTRY = (
    *("mode", "measure", "baseline", "current", "drop", "margin"),
    *("non_inferior", "undecided", "failed", "decidable"),
)
_NAMED = 10
_REASONS = 3


def gate_blocks(result: GateResult) -> list[Block]:
    """Return the blocks of a gate: the result, the means, the rules, and queries that got worse.

    Args:
        result: From :func:`run_gate`.
    """
    head = "passed ✅" if result.passed else "failed ❌" if result.decidable else "not decidable ⚠️"
    noun, entries = result.current.noun.capitalize(), result.entries
    fallen = [
        {
            "Query": query.query_id,
            "Text": visible(result.texts.get(query.query_id) or "–", 80),
            noun: entry.label,
            "Metric": entry.measure,
            "Baseline": query.before,
            "Current": query.after,
        }
        for entry in entries
        if entry.drop > 0
        for query in entry.fallen[:_NAMED]
    ]
    better = ", ".join(f"{entry.label} {entry.measure}" for entry in entries if entry.higher)
    remark = (
        f"{better} is clearly better: make this report the new baseline, so that a later change "
        "cannot lose the gain."
    )
    return [
        Heading(f"Retrieval benchmark: {head}", 3),
        Paragraph(_state_result(result), "result"),
        table_of({noun: entry.label, **_row(entry, result.rules)} for entry in entries),
        Paragraph(_describe_rules(result)),
        Bullets([f"Note: {note}." for note in result.notes]),
        Paragraph(remark if better and result.passed else ""),
        Fold(f"Queries that got worse, at most {_NAMED} for each mean", [table_of(fallen)]),
    ]


def render_gate_markdown(result: GateResult) -> str:
    """Return the result as Markdown for a comment on a pull request."""
    return f"{MARKER}\n{markdown(gate_blocks(result))}"


def render_refusal_markdown(reason: str) -> str:
    """Return the comment on reports that cannot be compared; it replaces an earlier "passed".

    Args:
        reason: The error message.
    """
    title = Heading("Retrieval benchmark: not compared ❌", 3)
    return f"{MARKER}\n{markdown([title, Paragraph(reason)])}"


def gate_document(result: GateResult) -> dict[str, Any]:
    """Return the result as JSON values.

    Args:
        result: From :func:`run_gate`.
    """
    return {
        "passed": result.passed,
        "decidable": result.decidable,
        **{name: getattr(result.rules, name) for name in _RULES},
        "current": result.current.manifest.experiment_id,
        "baseline": result.baseline.manifest.experiment_id,
        "entries": [_entry_document(entry, result) for entry in result.entries],
        "raise_baseline": result.passed and any(entry.higher for entry in result.entries),
        "notes": result.notes,
    }


def _entry_document(entry: GateEntry, result: GateResult) -> dict[str, Any]:
    sides, judged = ("baseline", "current"), result.judged.get(entry.mode)
    return {
        **{name: getattr(entry, name) for name in _ENTRY},
        "ci": None if entry.ci is None else entry.ci.model_dump(mode="json"),
        "p_adjusted": entry.comparison.p_adjusted,
        "significant": entry.comparison.significant,
        "queries": entry.comparison.n,
        "judged": judged and dict(zip(sides, judged, strict=True)),
        "condensed": entry.condensed and dict(zip(sides, entry.condensed, strict=True)),
        "fallen": [dict(zip(("query_id", *sides), query, strict=True)) for query in entry.fallen],
    }


def _state_result(result: GateResult) -> str:
    """State in one sentence whether the gate passed, and why not."""
    entries = [entry for entry in result.entries if entry.failed]
    entries += [entry for entry in result.entries if not entry.decidable]
    if entries:
        reasons = [_state_entry(entry, result) for entry in entries[:_REASONS]]
        reasons += [f"and {len(entries) - _REASONS} more"] * (len(entries) > _REASONS)
        return f"gate {'failed' if entries[0].failed else 'not decidable'}: {'; '.join(reasons)}."
    means = plural(len(result.entries), "mean")
    return f"gate passed: {means} compared with the baseline, none worse than allowed."


def _state_entry(entry: GateEntry, result: GateResult) -> str:
    """State why an entry failed, or cannot be decided."""
    name = f"{entry.label} {entry.measure}"
    if entry.condensed is not None and not entry.decidable:
        before, after = entry.condensed
        return (
            f"{name}: {1 - result.judged[entry.mode][1]:.0%} of the first ten documents of the "
            "current report are unjudged; on judged documents alone it changes by "
            f"{show(after - before, '+')} to {show(after)}. Judge these documents"
        )
    change = _show_change(entry.current - entry.baseline, entry, result.rules)
    if entry.non_inferior is not False:
        return f"{name} changed by {change}"
    interval = _show_ends(entry, result.rules)
    return f"{name} is not shown to be non-inferior: {change}, interval {interval}"


def _describe_rules(result: GateResult) -> str:
    """Describe the conditions of failure, and the test."""
    rules, level = result.rules, result.current.confidence
    scale, unit = (1, "") if rules.absolute else (100, "% of the baseline's mean")
    sentences = []
    if rules.non_inferior is not None:
        sentences.append(
            f"The gate passes only if each {level * 100:g}% interval of the difference excludes a "
            f"drop of {rules.non_inferior * scale:g}{unit} or more (one-sided level "
            f"{(1 - level) * 50:g}%; all must pass, so the intervals are unadjusted)."
        )
    if rules.max_drop is not None:
        proof = " and the drop is significant" if rules.require_significant else ""
        sentences.append(
            f"The gate fails if a mean drops by more than {rules.max_drop * scale:g}{unit}{proof}."
        )
    compared = [entry.comparison for entry in result.entries]
    tested = [pair.n for pair in compared if pair.p_adjusted is not None]
    if tested:
        family = f"{plural(len(tested), 'comparison')} of means with their baselines"
        config = result.current.manifest.config
        sentences.append(describe_method(name_test(family, level), max(tested), config))
    return " ".join(sentences)


def _show_change(change: float, entry: GateEntry, rules: GateRules) -> str:
    """Return a change of a mean: a difference, or a percentage of the baseline."""
    share = f"{change / abs(entry.baseline or 1.0):+.1%}"
    return show(change, "+") if rules.absolute else share.replace("-", "−")


def _show_ends(entry: GateEntry, rules: GateRules) -> str:
    ends = [_show_change(end, entry, rules) for end in ends_of(entry.ci) if end is not None]
    return f"[{', '.join(ends)}]" if ends else "–"


def _row(entry: GateEntry, rules: GateRules) -> dict[str, object]:
    is_large = rules.max_drop is not None and entry.drop > rules.max_drop + EQUAL
    state = "better" if entry.higher else "ok"
    if entry.failed:
        state = "not shown" if entry.non_inferior is False and not is_large else "failed"
    elif is_large:
        state = "not significant"
    return {
        "Metric": entry.measure,
        "Baseline": entry.baseline,
        "Current": entry.current,
        "Change": _show_change(entry.current - entry.baseline, entry, rules),
        **({} if rules.non_inferior is None else {"Interval": _show_ends(entry, rules)}),
        "Adj. p": show_p(entry.comparison.p_adjusted),
        "Verdict": state if entry.decidable else "not decidable",
    }
