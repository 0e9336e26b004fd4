"""Profiles: how severe the rules are and where the limits lie, for one purpose.

The rules say what is usual. A profile is a small value that says what differs when runs are made
for a track, or checked before they are sent to one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from trectools_plus.errors import UsageError
from trectools_plus.validation.engine import DEFAULT_MAX_DEPTH
from trectools_plus.validation.findings import FileReport, Finding, Severity
from trectools_plus.validation.run_view import MAX_TAG_LENGTH, TREC_MAX_DEPTH


@dataclass(frozen=True, slots=True)
class Profile:
    """Severities and limits that differ from the usual ones.

    Attributes:
        name: As it is given to ``--profile``.
        summary: What it is for, in a clause.
        max_depth: Results allowed per query.
        max_tag_length: Characters allowed in the run tag.
        severities: The severity of rules, by code, where it is another.
        unless_most: Codes among them that keep their own severity when more than half is affected.
    """

    name: str
    summary: str
    max_depth: int = DEFAULT_MAX_DEPTH
    max_tag_length: int = MAX_TAG_LENGTH
    severities: Mapping[str, Severity] = field(default_factory=dict)
    unless_most: frozenset[str] = frozenset()

    def judge(self, report: FileReport) -> FileReport:
        """The same report with the severities of this profile."""
        return replace(report, findings=tuple(map(self._judge, report.findings)))

    def _judge(self, finding: Finding) -> Finding:
        severity = self.severities.get(finding.code, finding.severity)
        is_most = finding.total is not None and finding.count * 2 > finding.total
        if finding.code in self.unless_most and is_most:
            return finding
        return replace(finding, severity=severity)


_ALL = (
    Profile("default", "the catalogue as it stands"),
    Profile(
        "trec",
        "runs made for TREC: 1,000 results per query, queries without a row are warnings",
        max_depth=TREC_MAX_DEPTH,
        severities={"P103": Severity.WARNING, "P108": Severity.WARNING},
        unless_most=frozenset({"P103"}),
    ),
    Profile(
        "submission",
        "before sending a run in: several tags, the form of the tag, column 2 and missing topics "
        "are errors, tags have 25 characters at most",
        max_tag_length=25,
        severities=dict.fromkeys(("P108", "R107", "R151", "R152"), Severity.ERROR),
    ),
)

PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in _ALL}
"""The profiles by name."""


def find_profile(name: str) -> Profile:
    """The profile of this name.

    Raises:
        UsageError: If there is none.
    """
    try:
        return PROFILES[name]
    except KeyError:
        raise UsageError(
            f"there is no profile '{name}'", remedy=f"profiles: {', '.join(PROFILES)}"
        ) from None
