"""Profiles of the validators, and the choice of rules and severities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.errors import UsageError
from trectools_plus.validation.findings import FileReport, Finding, Severity
from trectools_plus.validation.registry import DEFAULT_MAX_DEPTH, TREC_MAX_DEPTH


@dataclass(frozen=True, slots=True)
class Profile:
    """Severities and limits that differ from the usual ones.

    Attributes:
        max_depth: Results allowed per query.
        max_tag_length: Characters allowed in the run tag.
        severities: Severities that differ from those of the rules, by code.
        unchanged_if_most: Codes in ``severities`` whose findings keep their severity if more than
            half of the places are affected.
    """

    max_depth: int = DEFAULT_MAX_DEPTH
    severities: Mapping[str, Severity] = field(default_factory=dict)
    unchanged_if_most: frozenset[str] = frozenset()
    max_tag_length: int = MAX_TAG_LENGTH

    def apply(self, finding: Finding) -> Finding:
        """Return a finding with its severity in this profile."""
        is_most = finding.total is not None and finding.count * 2 > finding.total
        if finding.code in self.unchanged_if_most and is_most:
            return finding
        return replace(finding, severity=self.severities.get(finding.code, finding.severity))


_TREC = dict.fromkeys(("P103", "P108"), Severity.WARNING)
_SUBMISSION = dict.fromkeys(("P108", "R107", "R151", "R152"), Severity.ERROR)
PROFILES = {
    "default": Profile(),
    "trec": Profile(TREC_MAX_DEPTH, _TREC, frozenset({"P103"})),
    "submission": Profile(severities=_SUBMISSION, max_tag_length=25),
}
"""The profiles by name."""


@dataclass(frozen=True)
class Choices:
    """The chosen rules, their severities, and the severities that fail a check.

    Attributes:
        profile: Severities and the limit of results.
        strict: True if warnings fail the check too.
        select: Codes of the only rules that are reported; empty for all.
        ignore: Codes of rules that are not reported, although they are selected.
    """

    profile: Profile
    strict: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        profile: str | None = None,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        *,
        max_depth: int | None = None,
        strict: bool = False,
    ) -> Choices:
        """Return the choices of a user.

        Args:
            profile: The name of a profile.
            select: Report only these rules: codes, prefixes of codes, or names.
            ignore: Do not report these rules.
            max_depth: Results allowed per query; by default those of the profile.
            strict: Fail the check on warnings too.

        Raises:
            UsageError: If a profile does not exist, or a code or name matches no rule.
        """
        base = PROFILES.get(profile or "default")
        if base is None:
            what = f"unknown profile '{profile}'"
            raise UsageError(what, remedy=f"profiles: {', '.join(PROFILES)}")
        base = replace(base, max_depth=max_depth or base.max_depth)
        if not select and not ignore:
            return cls(base, strict)
        from trectools_plus.validation.catalogue import CATALOGUE

        return cls(base, strict, CATALOGUE.codes(select), CATALOGUE.codes(ignore))

    def chosen(self, code: str) -> bool:
        """Return whether the rule with a code is reported."""
        return (not self.select or code in self.select) and code not in self.ignore

    def apply(self, report: FileReport) -> FileReport:
        """Return the report with the chosen findings and the severities of the profile."""
        findings = (one for one in report.findings if self.chosen(one.code))
        return replace(report, findings=tuple(map(self.profile.apply, findings)))

    def fails(self, report: FileReport) -> bool:
        """Return whether a report that :meth:`apply` returned fails the check."""
        failing = {Severity.ERROR, Severity.WARNING} if self.strict else {Severity.ERROR}
        return any(finding.severity in failing for finding in report.findings)
