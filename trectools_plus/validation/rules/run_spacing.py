"""A rule on the blanks between the columns of a run."""

from __future__ import annotations

from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.run_view import RunView


@rule(
    "R106",
    "odd-spacing",
    on="run",
    scope="file",
    severity="info",
    fix="safe",
    checks="leading, trailing or mixed blanks; form feed or vertical tab is a warning",
    rationale="trec_eval takes any mix of blanks. Readers that split at one tab or one blank see "
    "empty columns, and at form feeds and vertical tabs C and other languages disagree.",
    example="run.txt: info R106: mixed tabs and spaces. Put one blank between columns.",
    remedy="Put one blank between columns",
)
def odd_spacing(run: RunView) -> Hit | None:
    """Columns are not separated by one and the same blank."""
    if run.columns is None or run.shape.verdict != "rows":
        return None
    facts = run.columns.facts
    if facts.form_feed_lines:
        lines = facts.form_feed_lines.lines.tolist()
        message = "form feed or vertical tab between columns; not every reader splits there"
        return Hit(message, lines, len(lines), severity="warning")
    seen = []
    if facts.spaced_rows and facts.tabbed_rows:
        seen.append("mixed tabs and spaces")
    if facts.loose_rows:
        n_lines = len(facts.loose_rows.lines)
        seen.append(f"leading, trailing or repeated blanks on {n_lines:,} lines")
    if not seen:
        return None
    return Hit("; ".join(seen), count=max(1, len(facts.loose_rows.lines)))
