"""Render findings as JUnit XML for build servers: a suite per file, a case per finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trectools_plus.text import sentences
from trectools_plus.validation.findings import FileReport, Finding, Severity
from trectools_plus.validation.rendering.places import iter_rows, line_ranges, printable


def iter_junit(reports: Iterable[FileReport], *, strict: bool = False) -> Iterator[str]:
    """Yield all findings as a JUnit document.

    An error is a failed case; with ``strict``, a warning too. Other findings are passed cases with
    their text as output. A file without findings is one passed case.
    """
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="trectools-plus">\n'
    for report in reports:
        yield from _suite(report, failing)
    yield "</testsuites>\n"


def _suite(report: FileReport, failing: set[Severity]) -> Iterator[str]:
    failures = sum(finding.severity in failing for finding in report.findings)
    tests = max(1, len(report.findings))
    name = _attribute(report.path)
    yield f'  <testsuite name={name} tests="{tests}" failures="{failures}" errors="0">\n'
    yield "    <properties>\n"
    for key in ("kind", "rows", "queries"):
        yield f'      <property name="{key}" value="{getattr(report, key)}"/>\n'
    yield "    </properties>\n"
    if not report.findings:
        yield f'    <testcase classname={name} name="no findings"/>\n'
    for finding in report.findings:
        yield from _case(finding, report, failed=finding.severity in failing)
    yield "  </testsuite>\n"


def _case(finding: Finding, report: FileReport, *, failed: bool) -> Iterator[str]:
    path, title = _attribute(finding.path), _attribute(f"{finding.code} {finding.name}")
    line = "" if finding.line is None else f' line="{finding.line}"'
    yield f"    <testcase classname={path} name={title} file={path}{line}>\n"
    message = sentences(finding.message, finding.remedy)
    if failed:
        yield f'      <failure type="{finding.code}" message={_attribute(message)}>'
    else:
        yield "      <system-out>"
    where = line_ranges(finding.lines, finding.count)
    more = f" [{where}]" if where else ""
    yield _text(f"{finding.place}: {finding.severity} {finding.code}: {message}{more}")
    for number, text in iter_rows(report, finding):
        yield f"\n{number}: {_text(text)}"
    yield "</failure>\n" if failed else "</system-out>\n"
    yield "    </testcase>\n"


def _attribute(text: str) -> str:
    from xml.sax.saxutils import quoteattr

    return quoteattr(printable(text))


def _text(text: str) -> str:
    from xml.sax.saxutils import escape

    # Control characters and lone surrogates, which XML cannot contain, are escaped.
    return escape(printable(text))
