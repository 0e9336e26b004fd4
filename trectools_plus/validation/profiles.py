"""Profiles, and what the command line, the settings file and the profile come to.

The rules say what is usual. A profile is a small value that says what differs when runs are made
for a track, or checked before they are sent to one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path

from trectools_plus.errors import UsageError
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.engine import DEFAULT_MAX_DEPTH
from trectools_plus.validation.findings import FileReport, Finding, Severity
from trectools_plus.validation.settings import Settings
from trectools_plus.validation.views.runs import MAX_TAG_LENGTH, TREC_MAX_DEPTH


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


@dataclass(frozen=True)
class Choices:
    """Which rules are looked at, how severe they are, what fails the check.

    Attributes:
        profile: Severities and limits; the limits include what else was asked for.
        strict: Whether warnings fail the check too.
        chosen: Whether the rule with a code is looked at.
        per_file: Codes or prefixes to leave out in files that match a pattern.
        folder: What the patterns are relative to.
        settings_file: Where the settings come from; ``None`` if there are none.
    """

    profile: Profile
    strict: bool
    chosen: Callable[[str], bool]
    per_file: Mapping[str, tuple[str, ...]]
    folder: Path
    settings_file: Path | None = None

    def judge(self, report: FileReport) -> FileReport:
        """The report that the user wants: the chosen findings, in the severity of the profile."""
        left_out = self._left_out_in(report.path)
        findings = tuple(
            finding
            for finding in report.findings
            if self.chosen(finding.code) and not finding.code.startswith(left_out)
        )
        return self.profile.judge(replace(report, findings=findings))

    def fails(self, report: FileReport) -> bool:
        """Return whether a judged report fails the check."""
        failing = {Severity.ERROR, Severity.WARNING} if self.strict else {Severity.ERROR}
        return any(finding.severity in failing for finding in report.findings)

    @property
    def optional_rules(self) -> bool:
        """Return whether a rule was chosen that is off by default."""
        return any(rule.optional and self.chosen(rule.code) for rule in CATALOGUE)

    def _left_out_in(self, path: str) -> tuple[str, ...]:
        if not self.per_file:
            return ()
        whole = Path(path).absolute()
        names = [whole.name]
        if whole.is_relative_to(self.folder):
            names.append(whole.relative_to(self.folder).as_posix())
        matching = (
            codes
            for pattern, codes in self.per_file.items()
            if any(fnmatch(name, pattern) for name in names)
        )
        return tuple(chain.from_iterable(matching))


def decide(settings: Settings, asked: Settings = Settings()) -> Choices:  # noqa: B008, it is frozen
    """Put together what was asked for.

    Args:
        settings: From the settings file; they win over the profile.
        asked: From the command line, without a path; they win over the settings. If it selects
            rules, settings that ignore some of them are overruled.

    Raises:
        UsageError: If a profile or code does not exist.
    """
    try:
        in_files = chain.from_iterable(settings.per_file_ignores.values())
        CATALOGUE.chooser(settings.select, [*settings.ignore, *in_files])
        find_profile(settings.profile or "default")
    except UsageError as error:
        where = str(settings.path) if settings.path else None
        raise UsageError(error.what, where=where, remedy=error.remedy) from None
    ignore = asked.ignore or (() if asked.select else settings.ignore)
    base = find_profile(asked.profile or settings.profile or "default")
    max_tag_length = asked.max_tag_length or settings.max_tag_length or base.max_tag_length
    return Choices(
        profile=replace(
            base,
            max_depth=asked.max_depth or settings.max_depth or base.max_depth,
            max_tag_length=max_tag_length,
        ),
        strict=bool(settings.strict if asked.strict is None else asked.strict),
        chosen=CATALOGUE.chooser(asked.select or settings.select, ignore),
        per_file={
            pattern: tuple(CATALOGUE.codes(named))
            for pattern, named in settings.per_file_ignores.items()
        },
        folder=settings.path.absolute().parent if settings.path else Path.cwd(),
        settings_file=settings.path,
    )
