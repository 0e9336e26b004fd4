"""Settings files and profiles of the validators, and the choices that result from them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path
from typing import Any

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.errors import InputError, UsageError
from trectools_plus.text import visible
from trectools_plus.validation.findings import FileReport, Finding, Severity
from trectools_plus.validation.registry import DEFAULT_MAX_DEPTH, TREC_MAX_DEPTH

_TABLES = {
    "trectools.toml": ("validate",),
    "pyproject.toml": ("tool", "trectools-plus", "validate"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The content of a settings file; keys that are not set are ``None`` or empty.

    The keys of the file are the names of these attributes with ``-`` for ``_``.

    Attributes:
        path: The file; ``None`` if there is none.
        profile: Name of a profile.
        max_depth: Results allowed per query.
        max_tag_length: Characters allowed in the run tag.
        select: Only these rules: codes, prefixes or names.
        ignore: Do not report these rules: codes, prefixes or names.
        strict: True if warnings fail the check too.
        per_file_ignores: Rules to ignore in files, by a pattern of their path below the folder of
            the settings file, or of their name.
    """

    path: Path | None = None
    profile: str | None = None
    max_depth: int | None = None
    max_tag_length: int | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict: bool | None = None
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


KEYS = tuple(one.name.replace("_", "-") for one in fields(Settings) if one.name != "path")
"""The keys of a settings file."""


def find_settings(folder: Path) -> Settings:
    """Read the settings of the nearest file in ``folder`` or its parents.

    In one folder, ``trectools.toml`` takes precedence over ``pyproject.toml``. A file without the
    table for the validators is skipped.

    Raises:
        UsageError: If the file is not TOML, or has an invalid key or value.
        InputError: If it cannot be read.
    """
    folder = folder.absolute()
    for ancestor in (folder, *folder.parents):
        for name in _TABLES:
            path = ancestor / name
            if path.is_file() and (table := _table(path)) is not None:
                return _settings(path, table)
    return Settings()


def read_settings(path: Path) -> Settings:
    """Read the settings of one file, which must have the table for the validators.

    Raises:
        UsageError: If the file is not TOML, lacks the table, or has an invalid key or value.
        InputError: If it cannot be read.
    """
    table = _table(path)
    if table is None:
        name = _table_name(path)
        remedy = "add the table, or name another file"
        raise UsageError(f"the table [{name}] is missing", where=str(path), remedy=remedy)
    return _settings(path, table)


def _table(path: Path) -> Any:
    """Return the validators' table, or ``None``."""
    try:
        table: Any = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", where=str(path)) from error
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested too deeply
        raise UsageError(f"not TOML: {error}", where=str(path)) from error
    for name in _path_of_table(path):
        if not isinstance(table, dict) or name not in table:
            return None
        table = table[name]
    return table


def _path_of_table(path: Path) -> tuple[str, ...]:
    return _TABLES.get(path.name, _TABLES["trectools.toml"])


def _table_name(path: Path) -> str:
    return ".".join(_path_of_table(path))


def _settings(path: Path, table: Any) -> Settings:
    where = f"{path} [{_table_name(path)}]"
    if not isinstance(table, dict):
        raise UsageError("expected a table", where=where)
    for key in table:
        if key not in KEYS:
            remedy = f"keys: {', '.join(KEYS)}"
            raise UsageError(f"unknown key '{visible(key)}'", where=where, remedy=remedy)
    values = {key.replace("-", "_"): _value(key, value, where) for key, value in table.items()}
    return Settings(path, **values)


def _value(key: str, value: Any, where: str) -> Any:
    """Check the type of a value, and convert it; codes become upper case."""
    expected, is_valid = _CHECKS[key]
    if not is_valid(value):
        raise UsageError(f"'{key}' expects {expected} but got {value!r}", where=where)
    if isinstance(value, list):
        return tuple(map(str.upper, value))
    if isinstance(value, dict):
        return {pattern: tuple(map(str.upper, codes)) for pattern, codes in value.items()}
    return value


def _is_list_of_codes(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(code, str) and code for code in value)


def _is_limit(value: Any) -> bool:
    return type(value) is int and value >= 1


_CHECKS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "profile": ("the name of a profile", lambda value: isinstance(value, str)),
    "max-depth": ("a whole number of at least 1", _is_limit),
    "max-tag-length": ("a whole number of at least 1", _is_limit),
    "select": ("a list of rule codes", _is_list_of_codes),
    "ignore": ("a list of rule codes", _is_list_of_codes),
    "strict": ("true or false", lambda value: isinstance(value, bool)),
    "per-file-ignores": (
        "a table of patterns with lists of rule codes",
        lambda value: isinstance(value, dict) and all(map(_is_list_of_codes, value.values())),
    ),
}
"""By key: the expected value in words, and its test."""


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
        selects: Whether the user selects rules, whose findings are then all listed.
    """

    profile: Profile
    strict: bool
    chosen: Callable[[str], bool]
    per_file: Mapping[str, tuple[str, ...]]
    folder: Path
    settings_file: Path | None = None
    selects: bool = False

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
    command_line: Settings = Settings(),  # frozen
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
        selects=bool(command_line.select or settings.select),
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
