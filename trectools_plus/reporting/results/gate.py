"""The result of a gate: Markdown for a pull request, a table for the terminal, JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

from trectools_plus.benchmark.gate import GateEntry, GateResult, GateRules
from trectools_plus.display import Cell, TableColumn, TableRow, TextTable, make_row
from trectools_plus.reporting.document import (
    Block,
    Bullets,
    Fold,
    Heading,
    Paragraph,
    markdown,
    print_blocks,
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
    remarks = gate_remarks(result)
    worse = [entry for entry in result.entries if entry.fallen and entry.drop > 0]
    counts = [
        f"{entry.label} {entry.measure}: {plural(len(entry.fallen or ()), 'query', 'queries')}"
        for entry in worse
    ]
    fallen = Paragraph(f"{'; '.join(counts)}. At most {_NAMED} of each are listed.", "small")
    return [
        Paragraph(state_result(result), "result"),
        _table(result),
        Paragraph(describe_rules(result)),
        *([Bullets(remarks)] if remarks else []),
        *([Fold("Queries that got worse", [_fallen(result, worse), fallen])] if worse else []),
    ]


def render_gate_markdown(result: GateResult) -> str:
    """Return the result as Markdown for a comment on a pull request."""
    head = "passed ✅" if result.passed else "failed ❌" if result.decidable else "not decidable ⚠️"
    title = Heading(f"Retrieval benchmark: {head}", 3)
    return f"{MARKER}\n{markdown([title, *gate_blocks(result)])}"


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
        "max_drop": result.rules.max_drop,
        "absolute": result.rules.absolute,
        "require_significant": result.rules.require_significant,
        "non_inferior": result.rules.non_inferior,
        "current": result.current.manifest.experiment_id,
        "baseline": result.baseline.manifest.experiment_id,
        "entries": [_entry_document(entry, result) for entry in result.entries],
        "raise_baseline": _should_rise(result),
        "notes": result.notes,
    }


def print_gate(result: GateResult, stream: TextIO) -> None:
    """Print the result, at most 100 characters wide.

    Args:
        result: From :func:`run_gate`.
        stream: The output.
    """
    print_blocks(gate_blocks(result), stream, folds=True)


def state_result(result: GateResult) -> str:
    """State in one sentence whether the gate passed, and why not."""
    rules = result.rules
    failed = [entry for entry in result.entries if entry.failed]
    undecidable = [entry for entry in result.entries if not entry.decidable]
    reasons = [_state_failure(entry, rules) for entry in failed]
    reasons += [_state_undecidable(entry, result) for entry in undecidable]
    if reasons:
        more = len(reasons) - _REASONS
        return (
            f"gate {'failed' if failed else 'not decidable'}: {'; '.join(reasons[:_REASONS])}"
            f"{f'; and {more} more' if more > 0 else ''}."
        )
    if rules.non_inferior is not None:
        return (
            "gate passed: every mean is non-inferior to its baseline "
            f"(margin {_show_share(rules.non_inferior, rules)})."
        )
    significantly = " significantly" if rules.require_significant else ""
    return f"gate passed: no mean dropped{significantly} by more than {_show_limit(rules)}."


def describe_rules(result: GateResult) -> str:
    """Describe the conditions of failure."""
    rules = result.rules
    sentences = []
    if rules.non_inferior is not None:
        level = result.current.confidence
        methods = ", ".join(
            dict.fromkeys(entry.ci.method for entry in result.entries if entry.ci is not None)
        )
        sentences.append(
            f"The gate passes only if each {level * 100:g}% interval of the difference excludes a "
            f"drop of {_show_share(rules.non_inferior, rules)} or more "
            f"(one-sided level {(1 - level) * 50:g}%; {methods or 'no interval'}; all must pass, "
            "so the intervals are unadjusted)."
        )
    if rules.max_drop is not None:
        proof = " and the drop is significant" if rules.require_significant else ""
        sentences.append(
            f"The gate fails if a mean drops by more than {_show_limit(rules)}{proof}."
        )
    tested = [entry for entry in result.entries if entry.p_adjusted is not None]
    if tested:
        sentences.append(_describe_method(result, tested))
    return " ".join(sentences)


def _describe_method(result: GateResult, tested: list[GateEntry]) -> str:
    """Name the method in one line, as in a report."""
    current = result.current
    family = f"{plural(len(tested), 'comparison')} of means with their baselines"
    queries = max(one.queries or 0 for one in tested)
    test = name_test(family, current.confidence)
    return describe_method(test, queries, current.manifest.config)


def _state_failure(entry: GateEntry, rules: GateRules) -> str:
    name = f"{entry.label} {entry.measure}"
    if _is_beyond(entry, rules) or entry.margin is None:
        word = "dropped" if entry.current < entry.baseline else "rose"
        return f"{name} {word} by {_show_change(abs(entry.drop), rules)}"
    if entry.ci is None:
        return f"{name} is not shown to be non-inferior, because too few queries differ"
    state = "not shown to be non-inferior" if entry.undecided else "inferior"
    return f"{name} is {state}, interval {_show_ends(entry, rules)}"


def _state_undecidable(entry: GateEntry, result: GateResult) -> str:
    assert entry.condensed is not None
    baseline, current = entry.condensed
    unjudged = 1 - result.judged[entry.mode][1]
    return (
        f"{entry.label} {entry.measure}: {unjudged:.0%} of the first ten documents of the current "
        "report are unjudged; on judged documents alone it changes by "
        f"{show(current - baseline, '+')} to {show(current)}. Judge these documents"
    )


def _show_share(share: float, rules: GateRules) -> str:
    return f"{share:g}" if rules.absolute else f"{share * 100:g}%"


def _show_limit(rules: GateRules) -> str:
    assert rules.max_drop is not None
    relative = "" if rules.absolute else " of its baseline"
    return f"{_show_share(rules.max_drop, rules)}{relative}"


def _show_change(change: float, rules: GateRules, sign: str = "") -> str:
    """Return a change of a mean: a difference, or a percentage of the baseline."""
    return show(change, sign) if rules.absolute else f"{change:{sign}.1%}"


def _show_ends(entry: GateEntry, rules: GateRules) -> str:
    low, high = ends_of(entry.ci)
    if low is None or high is None:
        return "–"
    unit = 1.0 if rules.absolute else abs(entry.baseline)
    return "[{}, {}]".format(*(_show_change(end / unit, rules, "+") for end in (low, high)))


def gate_remarks(result: GateResult) -> list[str]:
    """Return numbers of queries, notes, and a remark if the baseline should be raised."""
    remarks = [
        _state_queries(entry, result.rules)
        for entry in result.entries
        if entry.queries_needed is not None
    ]
    remarks += [
        f"Note: {entry.label} {entry.measure}: {entry.ci.note}."
        for entry in result.entries
        if entry.margin is not None and entry.ci is not None and entry.ci.note
    ]
    remarks += [f"Note: {note}." for note in result.notes]
    spared = [
        f"{entry.label} {entry.measure}"
        for entry in result.entries
        if _is_beyond(entry, result.rules) and not entry.failed and entry.decidable
    ]
    if spared:
        remarks.append(
            "Passed, because the drop is larger than allowed but not significant: "
            f"{', '.join(spared)}."
        )
    if _should_rise(result):
        better = ", ".join(
            f"{entry.label} {entry.measure}" for entry in result.entries if entry.higher
        )
        remarks.append(
            f"The baseline should be raised: {better} is clearly better. Make this report the new "
            "baseline. Otherwise a later change can lose the gain without failing the gate."
        )
    return remarks


def _state_queries(entry: GateEntry, rules: GateRules) -> str:
    """State how many queries would decide an entry that the data do not decide."""
    assert entry.queries_needed is not None
    assert entry.queries is not None
    over = plural(entry.queries, "query", "queries")
    enough = entry.queries_needed <= entry.queries
    needed = f"{', although' if enough else ';'} {entry.queries_needed:,} queries would"
    if entry.margin is not None:
        return (
            f"{entry.label} {entry.measure}: non-inferiority is not shown over {over}{needed} show "
            "it with a probability of 80% if there is no true difference."
        )
    return (
        f"{entry.label} {entry.measure}: the drop is not significant over {over}{needed} detect a "
        f"true drop of {_show_limit(rules)} with a probability of 80%."
    )


def _should_rise(result: GateResult) -> bool:
    return result.passed and any(entry.higher for entry in result.entries)


def _is_beyond(entry: GateEntry, rules: GateRules) -> bool:
    return rules.max_drop is not None and entry.drop > rules.max_drop + EQUAL


def _table(result: GateResult) -> TextTable:
    adjusted = TableColumn(Cell("Adjusted p"), short="Adj. p")
    noun = result.current.noun.capitalize()
    header: list[str | TableColumn] = [noun, "Metric", "Baseline", "Current", "Change"]
    if result.rules.non_inferior is not None:
        header.append("Interval")
    header += [adjusted, "Verdict"]
    return TextTable.of(header, [_row(entry, result.rules) for entry in result.entries])


def _row(entry: GateEntry, rules: GateRules) -> TableRow:
    unit = 1.0 if rules.absolute else abs(entry.baseline)
    cells = [
        entry.label,
        entry.measure,
        show(entry.baseline),
        show(entry.current),
        _show_change((entry.current - entry.baseline) / unit, rules, "+"),
        *([] if rules.non_inferior is None else [_show_ends(entry, rules)]),
        show_p(entry.p_adjusted),
        _verdict(entry, rules),
    ]
    return make_row(cells, alarming=entry.failed or not entry.decidable)


def _verdict(entry: GateEntry, rules: GateRules) -> str:
    if not entry.decidable:
        return "not decidable"
    if entry.failed:
        return "failed" if _is_beyond(entry, rules) or not entry.undecided else "not shown"
    return "better" if entry.higher else "ok"


def _entry_document(entry: GateEntry, result: GateResult) -> dict[str, Any]:
    fallen = entry.fallen
    shares = result.judged.get(entry.mode)
    return {
        "mode": entry.mode,
        "measure": entry.measure,
        "baseline": entry.baseline,
        "current": entry.current,
        "drop": entry.drop,
        "ci": None if entry.ci is None else entry.ci.model_dump(mode="json"),
        "p_adjusted": entry.p_adjusted,
        "significant": entry.significant,
        "margin": entry.margin,
        "non_inferior": entry.non_inferior,
        "queries": entry.queries,
        "undecided": entry.undecided,
        "queries_needed": entry.queries_needed,
        "failed": entry.failed,
        "decidable": entry.decidable,
        "judged": None if shares is None else {"baseline": shares[0], "current": shares[1]},
        "condensed": None
        if entry.condensed is None
        else {"baseline": entry.condensed[0], "current": entry.condensed[1]},
        "fallen": None
        if fallen is None
        else [
            {"query_id": query.query_id, "baseline": query.before, "current": query.after}
            for query in fallen
        ],
    }


def _fallen(result: GateResult, entries: list[GateEntry]) -> TextTable:
    """Return the queries that got worse, at most ten for each entry."""
    rows = [
        [
            _name(query.query_id, result.texts),
            entry.label,
            entry.measure,
            show(query.before),
            show(query.after),
        ]
        for entry in entries
        for query in (entry.fallen or ())[:_NAMED]
    ]
    noun = result.current.noun.capitalize()
    return TextTable.of(["Query", noun, "Metric", "Baseline", "Current"], rows)


def _name(query_id: str, texts: Mapping[str, str]) -> str:
    """Return the id of a query, with its text if that is known."""
    text = texts.get(query_id)
    return f"{query_id}: {visible(text, 80)}" if text else query_id
