"""Count findings for the summary line and ``--statistics``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trectools_plus.display import TextTable
from trectools_plus.text import plural
from trectools_plus.validation.findings import FileReport, Finding, Fix, Severity
from trectools_plus.validation.rendering.places import printable

_ORDER = list(Severity)


class Tally:
    """Counts of findings and files.

    Attributes:
        n_files: Number of files so far.
        n_with_findings: Number of files with findings.
        findings: Number of findings of each severity.
        fixes: Number of findings that can be fixed in each way.
        needs_decision: For each rule whose fix is applied only by name: the effects of the fix on
            the files, empty for a fix that deletes no rows and rewrites no scores or grades.
    """

    def __init__(self) -> None:
        self.n_files = 0
        self.n_with_findings = 0
        self.findings = dict.fromkeys(Severity, 0)
        self.fixes = dict.fromkeys(Fix, 0)
        self.needs_decision: dict[str, list[str]] = {}
        self._places: Counter[tuple[str, str, Severity]] = Counter()
        self._files: Counter[tuple[str, str, Severity]] = Counter()

    def count(self, reports: Iterable[FileReport]) -> Iterator[FileReport]:
        """Yield reports and count each."""
        for report in reports:
            self.add(report)
            yield report

    def add(self, report: FileReport) -> None:
        """Count one report."""
        self.n_files += 1
        self.n_with_findings += bool(report.findings)
        for finding in report.findings:
            self._add(finding)

    def _add(self, finding: Finding) -> None:
        self.findings[finding.severity] += 1
        self.fixes[finding.fix] += 1
        if finding.fix is Fix.ASK:
            from trectools_plus.validation.catalogue import find_rule

            fix = find_rule(finding.code).rule_fix
            effect = finding.effect or (fix.effect if fix else "")
            self.needs_decision.setdefault(finding.code, []).append(effect)
        key = finding.code, finding.name, finding.severity
        self._places[key] += finding.count
        self._files[key] += 1

    def summary(self) -> dict[str, int]:
        """Return the number of findings by severity, with the keys of the JSON document."""
        return {f"{severity}s": self.findings[severity] for severity in Severity}

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return a record per rule and severity, worst and most frequent first."""
        keys = sorted(
            self._places, key=lambda key: (_ORDER.index(key[2]), -self._places[key], key[0])
        )
        return [
            {
                "code": code,
                "name": name,
                "severity": severity.value,
                "count": self._places[code, name, severity],
                "files": self._files[code, name, severity],
            }
            for code, name, severity in keys
        ]

    def as_table(self) -> Iterator[str]:
        """Yield the records of :meth:`as_dicts` as lines of a table; nothing without findings."""
        rows = [
            [r["code"], r["name"], r["severity"], f"{r['count']:,}", f"{r['files']:,}"]
            for r in self.as_dicts()
        ]
        header = ["code", "name", "severity", "count", "files"]
        if rows:
            yield from map(printable, TextTable.of(header, rows, right=header[3:]).lines())

    def sentence(self) -> str:
        """Return the summary line: numbers of findings and files."""
        files = plural(self.n_files, "file")
        found = [plural(n, severity) for severity, n in self.findings.items() if n]
        if not found:
            return f"No findings in {files}."
        if self.n_with_findings < self.n_files:
            files = f"{self.n_with_findings:,} of {files}"
        *most, last = found
        return f"Found {' and '.join([', '.join(most), last]) if most else last} in {files}."

    def fix_hints(self) -> list[str]:
        """Return the lines that suggest fixes.

        A fix that deletes rows, or rewrites scores or grades, is offered on its own line with its
        effect, never together with others.
        """
        decisions = sorted(self.needs_decision.items())
        lines = self._command(",".join(code for code, effects in decisions if not any(effects)))
        changing = [(code, effects) for code, effects in decisions if any(effects)]
        if changing:
            lines.append("Each of these fixes changes the figures; it is applied only if named:")
        return lines + [f"  {code} {_effect(effects)}" for code, effects in changing]

    def _command(self, codes: str) -> list[str]:
        """Return the line with the command that applies fixes; empty if there is nothing to fix."""
        safe = self.fixes[Fix.SAFE]
        if not safe:
            return [f"Fix with --fix OUT --fix {codes}."] if codes else []
        findings = "the finding" if safe == 1 else f"the {safe:,} findings"
        further = f"; for more, add --fix {codes}" if codes else ""
        return [f"Fix {findings} marked * with --fix OUT{further}."]


def _effect(effects: Sequence[str]) -> str:
    """Return the effect on a file, or on the first of several files."""
    more = f" (and changes {plural(len(effects) - 1, 'more file')})" if len(effects) > 1 else ""
    return effects[0] + more
