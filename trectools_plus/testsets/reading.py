"""Reads test sets from JSON or YAML, in this package's form and in Phentrieve's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trectools_plus.errors import FormatError
from trectools_plus.formats.columns import scan_columns
from trectools_plus.formats.source import Source, read_source
from trectools_plus.formats.yaml_text import YamlDocument, read_values
from trectools_plus.testsets.complaints import translated
from trectools_plus.testsets.forms import own_form
from trectools_plus.testsets.model import TestSet
from trectools_plus.validation.findings import Severity
from trectools_plus.validation.topics.engine import check_topics
from trectools_plus.validation.topics.reading import read_view


def read_test_set(path: str | Path) -> TestSet:
    """Read a test set, compressed or not; see :mod:`trectools_plus.testsets.forms` for its forms.

    What ``topics validate`` calls an error is refused, with its code in the message; what it only
    warns of is read: ids that are whole numbers become text, a case or a judgment that is repeated
    as it is counts once, and a case without judgments is left without a score.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If it is neither JSON nor YAML, or a field is missing or wrong.
    """
    source = read_source(path)
    _refuse_errors(source)
    document = _parse(source)
    content = own_form(document.content, source.path)
    try:
        return TestSet.model_validate(content)
    except ValidationError as error:
        raise translated(error, document, source.path) from None


def _refuse_errors(source: Source) -> None:
    """Refuse what the validator of test sets calls an error."""
    view = read_view(scan_columns(source, 2))
    if view.form not in ("yaml", "json"):
        return
    for finding in check_topics(view):
        if finding.severity is Severity.ERROR:
            raise FormatError(
                f"{finding.message} ({finding.code})",
                path=source.path,
                line=finding.line,
                column=finding.column,
                remedy=finding.remedy[:1].lower() + finding.remedy[1:],
            )


def _parse(source: Source) -> YamlDocument:
    text = source.text
    is_yaml = re.search(r"\.ya?ml(\.\w+)?$", source.path, re.IGNORECASE)
    try:
        if text.lstrip()[:1] in ("{", "[") and not is_yaml:
            return YamlDocument(json.loads(text, object_pairs_hook=_distinct_keys))
        return _parse_yaml(text, source.path)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"not JSON: {error.msg}", path=source.path, line=error.lineno, column=error.colno
        ) from None
    except (RecursionError, ValueError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FormatError(f"neither JSON nor YAML: {what}", path=source.path) from None


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; Python would keep the last of two equal keys without a word."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key '{twice}' stands twice in one object")
    return found


def _parse_yaml(text: str, path: str) -> YamlDocument:
    import yaml

    try:
        return read_values(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise FormatError(
            f"not YAML: {getattr(error, 'problem', None) or str(error).splitlines()[0]}",
            path=path,
            line=mark.line + 1 if mark else None,
            column=mark.column + 1 if mark else None,
        ) from None
