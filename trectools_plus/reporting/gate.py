"""Two reports: the result of a gate, its comment on GitHub, and comparisons, as blocks and JSON."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trectools_plus.benchmark.gate import GateEntry, GateResult, GateRules
from trectools_plus.benchmark.two_reports import ReportComparison, state_verdict
from trectools_plus.errors import InputError, UsageError
from trectools_plus.reporting.comparison import (
    describe_difference_intervals,
    difference_row,
    method_line,
)
from trectools_plus.reporting.document import (
    Block,
    Bullets,
    Fold,
    Heading,
    Paragraph,
    markdown,
    show,
    show_p,
    table_of,
)
from trectools_plus.statistics.arrays import EQUAL
from trectools_plus.statistics.comparison import ends_of
from trectools_plus.text import plural, visible

MARKER = "<!-- trectools-plus benchmark gate -->"
"""The first line of the comment, which identifies it."""
_RULES = ("max_drop", "absolute", "require_significant", "non_inferior")
_ENTRY = (
    "mode",
    "measure",
    "baseline",
    "current",
    "drop",
    "margin",
    "non_inferior",
    "undecided",
    "failed",
    "decidable",
)
_NAMED = 10
_REASONS = 3


def gate_blocks(result: GateResult) -> list[Block]:
    """Return the blocks of a gate: the result, the means, the rules, and queries that got worse.

    Args:
        result: From :func:`run_gate`.
    """
    head = "passed ✅" if result.passed else "failed ❌" if result.decidable else "not decidable ⚠️"
    noun, entries = result.current.setup.noun.capitalize(), result.entries
    fallen = [
        {
            "Query": query,
            "Text": visible(result.texts.get(query) or "–", 80),
            noun: entry.label,
            "Metric": entry.measure,
            "Baseline": before,
            "Current": after,
        }
        for entry in entries
        if entry.drop > 0
        for query, before, after in entry.fallen[:_NAMED]
    ]
    return [
        Heading(f"Retrieval benchmark: {head}", 3),
        Paragraph(_state_result(result), "result"),
        table_of({noun: entry.label, **_row(entry, result.rules)} for entry in entries),
        Paragraph(_describe_rules(result)),
        Bullets([f"Note: {note}." for note in result.notes]),
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
        "entries": [
            {
                **{name: getattr(entry, name) for name in _ENTRY},
                "ci": entry.ci and entry.ci.model_dump(mode="json"),
                "p_adjusted": entry.comparison.p_adjusted,
                "significant": entry.comparison.significant,
                "queries": entry.comparison.n,
                "judged": judged and {"baseline": judged[0], "current": judged[1]},
                "condensed": condensed and {"baseline": condensed[0], "current": condensed[1]},
                "fallen": [
                    {"query_id": query, "baseline": before, "current": after}
                    for query, before, after in entry.fallen
                ],
            }
            for entry in result.entries
            for judged, condensed in [(result.judged.get(entry.mode), entry.condensed)]
        ],
        "raise_baseline": result.passed and any(entry.higher for entry in result.entries),
        "notes": result.notes,
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
    is_shown = entry.non_inferior is not False
    return f"{name} {'changed by' if is_shown else 'is not shown to be non-inferior:'} {change}"


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
        proof = " and the drop is significant" * rules.require_significant
        sentences.append(
            f"The gate fails if a mean drops by more than {rules.max_drop * scale:g}{unit}{proof}."
        )
    compared = [entry.comparison for entry in result.entries]
    if tested := [pair for pair in compared if pair.p_adjusted is not None]:
        family = f"{plural(len(tested), 'comparison')} of means with their baselines"
        sentences.append(method_line(result.current, tested[0], family))
    return " ".join(sentences)


def _show_change(change: float, entry: GateEntry, rules: GateRules) -> str:
    """Return a change of a mean: a difference, or a percentage of the baseline."""
    share = f"{change / abs(entry.baseline or 1.0):+.1%}"
    return show(change, "+") if rules.absolute else share.replace("-", "−")


def _row(entry: GateEntry, rules: GateRules) -> dict[str, object]:
    is_large = rules.max_drop is not None and entry.drop > rules.max_drop + EQUAL
    state = "better" if entry.higher else "ok"
    ends = [_show_change(end, entry, rules) for end in ends_of(entry.ci) if end is not None]
    shown = f"[{', '.join(ends)}]" if ends else "–"
    if entry.failed:
        state = "not shown" if entry.non_inferior is False and not is_large else "failed"
    elif is_large:
        state = "not significant"
    return {
        "Metric": entry.measure,
        "Baseline": entry.baseline,
        "Current": entry.current,
        "Change": _show_change(entry.current - entry.baseline, entry, rules),
        **({"Interval": shown} if rules.non_inferior else {}),
        "Adj. p": show_p(entry.comparison.p_adjusted),
        "Verdict": state if entry.decidable else "not decidable",
    }


_MOST_ROWS, _MOST_CHANGED = 24, 10


def contrast_blocks(contrast: ReportComparison, *, full: bool = True) -> list[Block]:
    """Return the blocks: the verdict, the differences, and the queries that changed most.

    Args:
        contrast: From :func:`compare_reports`.
        full: Show all measures instead of as many headline measures as fit into 24 rows.
    """
    report, every = contrast.report, list(contrast.modes[0].means)
    noun, queries = report.setup.noun.capitalize(), report.manifest.dataset.queries
    most = max(1, _MOST_ROWS // len(contrast.modes))
    measures = every if full else contrast.headline_measures[:most]
    means, changes = [], []
    for mode in contrast.modes:
        for pair, scores in zip(mode.comparisons, mode.scores, strict=True):
            if pair.measure in measures:
                row = {noun: mode.label, "Metric": pair.measure}
                before, after = mode.means[pair.measure]
                means.append({**row, "A": before, "B": after, **difference_row(pair, queries)})
                for change in scores.changes()[:_MOST_CHANGED]:
                    values = {"A": change.before, "B": change.after}
                    changes.append({"Query": change.query_id, **row, **values})
    first, more = contrast.modes[0].comparisons[0], len(every) - len(measures)
    settings = ", ".join(f"{name} {a} to {b}" for name, (a, b) in contrast.settings.items())
    return [
        Paragraph(state_verdict(contrast), "result"),
        *(Paragraph(f"{place}  {name}") for place, name in zip("AB", contrast.names, strict=True)),
        table_of(means),
        Paragraph(f"{plural(more, 'more measure')}: --all" if more else ""),
        Paragraph(
            f"Δ: B − A; * significant. {method_line(report, first)} "
            f"{describe_difference_intervals(first)}",
            "small",
        ),
        Paragraph(f"Settings that differ (A to B): {settings}." if settings else ""),
        Bullets([f"Note: {note}." for note in contrast.notes]),
        Fold("Queries that changed most", [table_of(changes)]),
    ]


def contrast_document(contrast: ReportComparison) -> dict[str, Any]:
    """Return the comparison as JSON values.

    Args:
        contrast: From :func:`compare_reports`.
    """
    modes = []
    for mode in contrast.modes:
        (mode_a, mode_b), measures = mode.modes, {}
        for pair, scores in zip(mode.comparisons, mode.scores, strict=True):
            (mean_a, mean_b), (n_a, n_b) = mode.means[pair.measure], scores.counts
            measures[pair.measure] = {
                "mean_a": mean_a,
                "mean_b": mean_b,
                "n_a": n_a,
                "n_b": n_b,
                "comparison": pair.model_dump(
                    mode="json", exclude={"baseline", "contrast", "measure"}
                ),
                "changed_most": [
                    {"query_id": change.query_id, "a": change.before, "b": change.after}
                    for change in scores.changes()[:_MOST_CHANGED]
                ],
            }
        modes.append(
            {"label": mode.label, "mode_a": mode_a, "mode_b": mode_b, "measures": measures}
        )
    return {
        "a": contrast.names[0],
        "b": contrast.names[1],
        "queries": contrast.report.manifest.dataset.queries,
        "verdict": state_verdict(contrast),
        "modes": modes,
        "notes": contrast.notes,
        "settings": {name: {"a": a, "b": b} for name, (a, b) in contrast.settings.items()},
    }


_TIMEOUT = 30  # seconds
_PAGE = 100
_LONGEST = 65_000
"""GitHub accepts comments of up to 65,536 characters."""


def append_step_summary(markdown: str) -> None:
    """Append Markdown to the file in ``GITHUB_STEP_SUMMARY``; do nothing if it is not set.

    Args:
        markdown: The text.

    Raises:
        InputError: If the file cannot be written.
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write(f"{markdown}\n")
    except OSError as error:
        raise InputError(
            f"the step summary cannot be written: {error.strerror}", where=path
        ) from error


@dataclass(frozen=True)
class PullRequest:
    """The pull request for the comment.

    Attributes:
        api: Base address of the REST API.
        repository: ``owner/name``.
        number: The pull request's number.
        token: The token for the API; never shown.
    """

    api: str
    repository: str
    number: int
    token: str = field(repr=False)


def find_pull_request() -> PullRequest:
    """Return the pull request of the current workflow, from the environment variables.

    Raises:
        UsageError: If a variable is missing, or the workflow does not run for a pull request.
    """
    names = "GITHUB_TOKEN", "GITHUB_REPOSITORY", "GITHUB_EVENT_PATH"
    try:
        token, repository, path = (os.environ[name] for name in names)
        event = json.loads(Path(path).read_text(encoding="utf-8"))
        number = int((event.get("pull_request") or event["issue"])["number"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UsageError(
            f"no pull request, or no token for it: {error!r}",
            where="--post-comment",
            remedy="run this in a workflow on pull_request with "
            "`env: GITHUB_TOKEN: ${{ github.token }}`, or omit --post-comment",
        ) from None
    api = os.environ.get("GITHUB_API_URL") or "https://api.github.com"
    return PullRequest(api.rstrip("/"), repository, number, token)


def post_comment(request: PullRequest, markdown: str, marker: str) -> str:
    """Post a comment, or update the existing comment that begins with ``marker``.

    Args:
        request: The pull request.
        markdown: The comment; it begins with the marker. It is cut after 65,000 characters.
        marker: The first line of the comment, which identifies it.

    Returns:
        The URL of the comment.

    Raises:
        InputError: If the API cannot be reached or refuses.
    """
    comments = f"/repos/{request.repository}/issues/{request.number}/comments"
    body = {"body": markdown[:_LONGEST]}
    for page in range(1, 51):
        known = _call(request, "GET", f"{comments}?per_page={_PAGE}&page={page}")
        for comment in known:
            if str(comment.get("body", "")).startswith(marker):
                place = f"/repos/{request.repository}/issues/comments/{int(comment['id'])}"
                return str(_call(request, "PATCH", place, body).get("html_url", ""))
        if len(known) < _PAGE:
            break
    return str(_call(request, "POST", comments, body).get("html_url", ""))


def _call(request: PullRequest, method: str, place: str, body: Any = None) -> Any:
    """Call the API and return its response as JSON values; redirects would get the token."""
    import httpx

    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {request.token}",
        "User-Agent": "trectools-plus",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    try:
        url = f"{request.api}{place}"
        response = httpx.request(method, url, json=body, headers=headers, timeout=_TIMEOUT)
        response.raise_for_status()
        return response.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        reason = [*str(error).splitlines(), type(error).__name__][0]
        raise InputError(
            f"the comment cannot be posted: {reason.replace(request.token, '***')}",
            where=f"{request.api}/repos/{request.repository}, pull request {request.number}",
            remedy="check the address in GITHUB_API_URL, and that the token has "
            "`permissions: pull-requests: write`",
        ) from None
