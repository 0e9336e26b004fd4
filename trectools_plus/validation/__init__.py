"""Checks of runs, qrels and topics: rules with codes, findings as objects, rendered late."""

from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.engine import (
    check_pair,
    check_qrels,
    check_run,
    validate_qrels,
    validate_run,
)
from trectools_plus.validation.findings import (
    FileReport,
    Finding,
    FindingsError,
    Fix,
    Severity,
    refuse_errors,
)
from trectools_plus.validation.loading import load_qrels, load_run
from trectools_plus.validation.topics.engine import validate_topics

__all__ = [
    "CATALOGUE",
    "FileReport",
    "Finding",
    "FindingsError",
    "Fix",
    "Severity",
    "check_pair",
    "check_qrels",
    "check_run",
    "load_qrels",
    "load_run",
    "refuse_errors",
    "validate_qrels",
    "validate_run",
    "validate_topics",
]
