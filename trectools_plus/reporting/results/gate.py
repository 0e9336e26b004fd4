"""The result of a gate: blocks for a pull request and the terminal, and JSON."""

from __future__ import annotations

from typing import Any

from trectools_plus.benchmark.gate import GateEntry, GateResult, GateRules
from trectools_plus.display import TableRow, TextTable, make_row
from trectools_plus.reporting.document import (
    Block,
    Bullets,
    Fold,
    Heading,
    Paragraph,
    markdown,
)
from trectools_plus.reporting.wording import describe_method, name_test, show, show_p
from trectools_plus.statistics.comparison import ends_of
from trectools_plus.statistics.method import EQUAL
from trectools_plus.text import plural, visible

MARKER = "<!-- trectools-plus benchmark gate -->"
"""The first line of the comment, which identifies it."""

_NAMED = 10
_REASONS = 3


def gate_blocks(result: GateResult) -> list[Block]:
    """Return the blocks of a gate: the result, the means, the rules, and queries that got worse.

    Args:
        result: From :func:`run_gate`.
    """
    head = "passed ✅" if result.passed else "failed ❌"
    noun = result.current.noun.capitalize()
    interval = [] if result.rules.non_inferior is None else ["Interval"]
    header = [noun, "Metric", "Baseline", "Current", "Change", *interval, "Adj. p", "Verdict"]
    worse = [entry for entry in result.entries if entry.fallen and entry.drop > 0]
    counts = [f"{_name(entry)}: {len(entry.fallen):,}" for entry in worse]
    fallen = [
        [
            _name_query(query.query_id, result.texts.get(query.query_id)),
            entry.label,
            entry.measure,
            show(query.before),
            show(query.after),
        ]
        for entry in worse
        for query in (entry.fallen)[:_NAMED]
    ]
    listed = f"{'; '.join(counts)}. At most {_NAMED} of each are listed." if worse else ""
    table = TextTable.of(["Query", noun, "Metric", "Baseline", "Current"], fallen)
    return [
        Heading(f"Retrieval benchmark: {head}", 3),
        Paragraph(_state_result(result), "result"),
        TextTable.of(header, [_row(entry, result.rules) for entry in result.entries]),
        Paragraph(_describe_rules(result)),
        Bullets(_remarks(result)),
        Fold("Queries that got worse", [table, Paragraph(listed, "small")]),
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
        "max_drop": result.rules.max_drop,
        "absolute": result.rules.absolute,
        "require_significant": result.rules.require_significant,
        "non_inferior": result.rules.non_inferior,
        "current": result.current.manifest.experiment_id,
        "baseline": result.baseline.manifest.experiment_id,
        "entries": [_entry_document(entry) for entry in result.entries],
        "raise_baseline": _should_rise(result),
        "notes": result.notes,
    }


def _state_result(result: GateResult) -> str:
    """State in one sentence whether the gate passed, and why not."""
    entries = [entry for entry in result.entries if entry.failed]
    if entries:
        reasons = "; ".join(_state_entry(entry, result) for entry in entries[:_REASONS])
        more = f"; and {len(entries) - _REASONS} more" if len(entries) > _REASONS else ""
        return f"gate failed: {reasons}{more}."
    means = plural(len(result.entries), "mean")
    return f"gate passed: {means} compared with the baseline, none worse than allowed."


def _state_entry(entry: GateEntry, result: GateResult) -> str:
    """State why an entry failed."""
    rules, name = result.rules, _name(entry)
    if _is_beyond(entry, rules) or entry.margin is None:
        word = "dropped" if entry.current < entry.baseline else "rose"
        return f"{name} {word} by {_show_change(abs(entry.drop), rules)}"
    if entry.ci is None:
        return f"{name} is not shown to be non-inferior, because too few queries differ"
    return f"{name} is not shown to be non-inferior, interval {_show_ends(entry, rules)}"


def _describe_rules(result: GateResult) -> str:
    """Describe the conditions of failure, and the test."""
    rules, level = result.rules, result.current.confidence
    sentences = []
    if rules.non_inferior is not None:
        sentences.append(
            f"The gate passes only if each {level * 100:g}% interval of the difference excludes a "
            f"drop of {_show_share(rules.non_inferior, rules)} or more (one-sided level "
            f"{(1 - level) * 50:g}%; all must pass, so the intervals are unadjusted)."
        )
    if rules.max_drop is not None:
        proof = " and the drop is significant" if rules.require_significant else ""
        sentences.append(
            f"The gate fails if a mean drops by more than {_show_limit(rules)}{proof}."
        )
    compared = [entry.comparison for entry in result.entries]
    tested = [one.n for one in compared if one.p_adjusted is not None]
    if tested:
        family = f"{plural(len(tested), 'comparison')} of means with their baselines"
        config = result.current.manifest.config
        sentences.append(describe_method(name_test(family, level), max(tested), config))
    return " ".join(sentences)


def _remarks(result: GateResult) -> list[str]:
    """Return notes, and a remark if the baseline should be raised."""
    remarks = [
        f"Note: {_name(entry)}: {entry.ci.note}."
        for entry in result.entries
        if entry.margin is not None and entry.ci is not None and entry.ci.note
    ]
    remarks += [f"Note: {note}." for note in result.notes]
    if _should_rise(result):
        better = ", ".join(_name(entry) for entry in result.entries if entry.higher)
        remarks.append(
            f"{better} is clearly better: make this report the new baseline, so that a later "
            "change cannot lose the gain."
        )
    return remarks


def _name(entry: GateEntry) -> str:
    return f"{entry.label} {entry.measure}"


def _name_query(query_id: str, text: str | None) -> str:
    return f"{query_id}: {visible(text, 80)}" if text else query_id


def _show_share(share: float, rules: GateRules) -> str:
    return f"{share:g}" if rules.absolute else f"{share * 100:g}%"


def _show_limit(rules: GateRules) -> str:
    limit = _show_share(rules.max_drop or 0, rules)
    return limit if rules.absolute else f"{limit} of its baseline"


def _show_change(change: float, rules: GateRules, sign: str = "") -> str:
    """Return a change of a mean: a difference, or a percentage of the baseline."""
    return show(change, sign) if rules.absolute else f"{change:{sign}.1%}"


def _show_ends(entry: GateEntry, rules: GateRules) -> str:
    low, high = ends_of(entry.ci)
    if low is None or high is None:
        return "–"
    unit = 1.0 if rules.absolute else abs(entry.baseline)
    return "[{}, {}]".format(*(_show_change(end / unit, rules, "+") for end in (low, high)))


def _should_rise(result: GateResult) -> bool:
    return result.passed and any(entry.higher for entry in result.entries)


def _is_beyond(entry: GateEntry, rules: GateRules) -> bool:
    return rules.max_drop is not None and entry.drop > rules.max_drop + EQUAL


def _row(entry: GateEntry, rules: GateRules) -> TableRow:
    unit = 1.0 if rules.absolute else abs(entry.baseline)
    states = {
        "not shown": entry.failed and not _is_beyond(entry, rules),
        "failed": entry.failed,
        "better": entry.higher,
        "not significant": _is_beyond(entry, rules),
    }
    cells = [
        entry.label,
        entry.measure,
        show(entry.baseline),
        show(entry.current),
        _show_change((entry.current - entry.baseline) / unit, rules, "+"),
        *([] if rules.non_inferior is None else [_show_ends(entry, rules)]),
        show_p(entry.comparison.p_adjusted),
        next((state for state, applies in states.items() if applies), "ok"),
    ]
    return make_row(cells, alarming=entry.failed)


def _entry_document(entry: GateEntry) -> dict[str, Any]:
    return {
        "mode": entry.mode,
        "measure": entry.measure,
        "baseline": entry.baseline,
        "current": entry.current,
        "drop": entry.drop,
        "ci": None if entry.ci is None else entry.ci.model_dump(mode="json"),
        "p_adjusted": entry.comparison.p_adjusted,
        "significant": entry.comparison.significant,
        "margin": entry.margin,
        "non_inferior": entry.non_inferior,
        "queries": entry.comparison.n,
        "failed": entry.failed,
        "fallen": [
            {"query_id": query.query_id, "baseline": query.before, "current": query.after}
            for query in entry.fallen
        ],
    }
