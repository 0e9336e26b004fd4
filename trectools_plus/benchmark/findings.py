"""Findings of the validators as a report holds them."""

from __future__ import annotations

from collections.abc import Iterable

from trectools_plus.benchmark.report import FindingRecord
from trectools_plus.validation.findings import Finding


def record_findings(findings: Iterable[Finding]) -> list[FindingRecord]:
    """The same findings as parts of the report, in the same order."""
    return [
        FindingRecord(
            code=finding.code,
            name=finding.name,
            severity=finding.severity.value,
            line=finding.line,
            column=finding.column,
            count=finding.count,
            query_id=finding.query_id,
            doc_id=finding.doc_id,
            message=finding.message,
            remedy=finding.remedy,
            fix=finding.fix.value,
        )
        for finding in findings
    ]
