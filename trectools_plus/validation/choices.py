"""What the command line, the settings file and the profile come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path

from trectools_plus.errors import UsageError
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.findings import FileReport, Severity
from trectools_plus.validation.profiles import Profile, find_profile
from trectools_plus.validation.settings import Settings


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
        """Whether a judged report fails the check."""
        failing = {Severity.ERROR, Severity.WARNING} if self.strict else {Severity.ERROR}
        return any(finding.severity in failing for finding in report.findings)

    @property
    def optional_rules(self) -> bool:
        """Whether a rule was chosen that is off by default."""
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


def decide(
    settings: Settings,
    *,
    profile: str | None = None,
    max_depth: int | None = None,
    max_tag_length: int | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    strict: bool | None = None,
) -> Choices:
    """Put together what was asked for; arguments win over settings, settings over the profile.

    Args:
        settings: From the settings file.
        profile: Name of a profile.
        max_depth: Results allowed per query.
        max_tag_length: Characters allowed in the run tag.
        select: Only these rules: codes, prefixes or names. Settings that ignore some of them are
            overruled.
        ignore: All but these rules.
        strict: Whether warnings fail the check too.

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
    if not ignore and not select:
        ignore = settings.ignore
    base = find_profile(profile or settings.profile or "default")
    return Choices(
        profile=replace(
            base,
            max_depth=max_depth or settings.max_depth or base.max_depth,
            max_tag_length=max_tag_length or settings.max_tag_length or base.max_tag_length,
        ),
        strict=bool(settings.strict if strict is None else strict),
        chosen=CATALOGUE.chooser(select or settings.select, ignore),
        per_file={
            pattern: tuple(CATALOGUE.codes(named))
            for pattern, named in settings.per_file_ignores.items()
        },
        folder=settings.path.absolute().parent if settings.path else Path.cwd(),
        settings_file=settings.path,
    )
