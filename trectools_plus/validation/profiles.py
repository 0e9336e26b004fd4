"""Profiles, and the choices that result from command line, settings file and profile.

A profile changes severities and limits of the rules, for example for runs of a TREC track or for
the check before a submission.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.errors import UsageError
from trectools_plus.validation.findings import FileReport, Finding, Severity
from trectools_plus.validation.limits import DEFAULT_MAX_DEPTH, TREC_MAX_DEPTH
from trectools_plus.validation.settings import Settings


@dataclass(frozen=True, slots=True)
class Profile:
    """Severities and limits that differ from the usual ones.

    Attributes:
        name: The value of ``--profile``.
        summary: Its purpose, in one clause.
        max_depth: Results allowed per query.
        max_tag_length: Characters allowed in the run tag.
        severities: Severities that differ from those of the rules, by code.
        unchanged_if_most: Codes in ``severities`` whose findings keep their severity if more than
            half of the places are affected.
    """

    name: str
    summary: str
    max_depth: int = DEFAULT_MAX_DEPTH
    max_tag_length: int = MAX_TAG_LENGTH
    severities: Mapping[str, Severity] = field(default_factory=dict)
    unchanged_if_most: frozenset[str] = frozenset()

    def apply(self, report: FileReport) -> FileReport:
        """Return the report with the severities of this profile."""
        return replace(report, findings=tuple(map(self._with_severity, report.findings)))

    def _with_severity(self, finding: Finding) -> Finding:
        severity = self.severities.get(finding.code, finding.severity)
        is_most = finding.total is not None and finding.count * 2 > finding.total
        if finding.code in self.unchanged_if_most and is_most:
            return finding
        return replace(finding, severity=severity)


_ALL = (
    Profile("default", "the severities and limits of the rules"),
    Profile(
        "trec",
        "runs made for TREC: 1,000 results per query, queries without a row are warnings",
        max_depth=TREC_MAX_DEPTH,
        severities={"P103": Severity.WARNING, "P108": Severity.WARNING},
        unchanged_if_most=frozenset({"P103"}),
    ),
    Profile(
        "submission",
        "before submitting a run: several tags, invalid tags, column 2 and missing topics are "
        "errors; tags have at most 25 characters",
        max_tag_length=25,
        severities=dict.fromkeys(("P108", "R107", "R151", "R152"), Severity.ERROR),
    ),
)


PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in _ALL}
"""The profiles by name."""


def find_profile(name: str) -> Profile:
    """Return the profile of a name.

    Raises:
        UsageError: If it does not exist.
    """
    try:
        return PROFILES[name]
    except KeyError:
        raise UsageError(
            f"unknown profile '{name}'", remedy=f"profiles: {', '.join(PROFILES)}"
        ) from None


@dataclass(frozen=True)
class Choices:
    """The chosen rules, their severities, and the severities that fail a check.

    Attributes:
        profile: Severities and limits; limits of settings and command line are included.
        strict: True if warnings fail the check too.
        chosen: Returns whether the rule with a code is reported.
        per_file: Codes or prefixes to ignore in files that match a pattern.
        folder: The folder that the patterns are relative to.
        settings_file: The source of the settings; ``None`` if there are none.
    """

    profile: Profile
    strict: bool
    chosen: Callable[[str], bool]
    per_file: Mapping[str, tuple[str, ...]]
    folder: Path
    settings_file: Path | None = None

    def apply(self, report: FileReport) -> FileReport:
        """Return the report with the chosen findings and the severities of the profile."""
        ignored = self._ignored_in(report.path)
        findings = tuple(
            finding
            for finding in report.findings
            if self.chosen(finding.code) and not finding.code.startswith(ignored)
        )
        return self.profile.apply(replace(report, findings=findings))

    def fails(self, report: FileReport) -> bool:
        """Return whether a report that :meth:`apply` returned fails the check."""
        failing = {Severity.ERROR, Severity.WARNING} if self.strict else {Severity.ERROR}
        return any(finding.severity in failing for finding in report.findings)

    @property
    def optional_rules(self) -> bool:
        """Return whether a rule that is off by default is chosen."""
        if self.chosen is _is_on_by_default:
            return False
        from trectools_plus.validation.catalogue import CATALOGUE

        return any(rule.optional and self.chosen(rule.code) for rule in CATALOGUE)

    def _ignored_in(self, path: str) -> tuple[str, ...]:
        if not self.per_file:
            return ()
        absolute = Path(path).absolute()
        names = [absolute.name]
        if absolute.is_relative_to(self.folder):
            names.append(absolute.relative_to(self.folder).as_posix())
        matching = (
            codes
            for pattern, codes in self.per_file.items()
            if any(fnmatch(name, pattern) for name in names)
        )
        return tuple(chain.from_iterable(matching))


def resolve_choices(
    settings: Settings,
    command_line: Settings = Settings(),  # noqa: B008, it is frozen
) -> Choices:
    """Combine command line, settings file and profile.

    Args:
        settings: From the settings file; they take precedence over the profile.
        command_line: From the command line, without a path; they take precedence over the
            settings. If they select rules, the ``ignore`` of the settings has no effect.

    Raises:
        UsageError: If a profile or code does not exist.
    """
    try:
        in_files = chain.from_iterable(settings.per_file_ignores.values())
        _code_filter(settings.select, [*settings.ignore, *in_files])
        find_profile(settings.profile or "default")
    except UsageError as error:
        where = str(settings.path) if settings.path else None
        raise UsageError(error.what, where=where, remedy=error.remedy) from None
    ignore = command_line.ignore or (() if command_line.select else settings.ignore)
    base = find_profile(command_line.profile or settings.profile or "default")
    max_tag_length = command_line.max_tag_length or settings.max_tag_length or base.max_tag_length
    return Choices(
        profile=replace(
            base,
            max_depth=command_line.max_depth or settings.max_depth or base.max_depth,
            max_tag_length=max_tag_length,
        ),
        strict=bool(settings.strict if command_line.strict is None else command_line.strict),
        chosen=_code_filter(command_line.select or settings.select, ignore),
        per_file=_codes_by_pattern(settings.per_file_ignores),
        folder=settings.path.absolute().parent if settings.path else Path.cwd(),
        settings_file=settings.path,
    )


def _code_filter(select: Sequence[str], ignore: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that tests whether a code is chosen; see ``Registry.code_filter``."""
    if not select and not ignore:
        return _is_on_by_default
    from trectools_plus.validation.catalogue import CATALOGUE

    return CATALOGUE.code_filter(select, ignore)


def _is_on_by_default(code: str) -> bool:
    """Return whether a rule is on by default; the rules are imported only for a finding."""
    from trectools_plus.validation.catalogue import find_rule

    return not find_rule(code).optional


def _codes_by_pattern(ignored: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    if not ignored:
        return {}
    from trectools_plus.validation.catalogue import CATALOGUE

    return {pattern: tuple(CATALOGUE.codes(named)) for pattern, named in ignored.items()}
