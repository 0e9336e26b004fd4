"""Findings of single rules, without a view of the whole run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

import numpy as np

from trectools_plus.formats.clean.words import Rows
from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.files.source import Source
from trectools_plus.formats.run import N_FIELDS
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.findings import Finding
from trectools_plus.validation.registry import LINES_KEPT
from trectools_plus.validation.rules.pair.documents import few_judged
from trectools_plus.validation.rules.run.documents import deep_queries
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.runs import RunView

Line = tuple[str, int, bytes]
"""The code of a rule, the number of a line that breaks it, and the line."""


def check_lines(path: str, lines: Iterable[Line]) -> list[Finding] | None:
    """Return the findings of rules on single ids.

    Args:
        path: The run, as the user named it.
        lines: All lines that break the rules, in the order of the file. If the query id breaks a
            rule, it is the first line of the query.

    Returns:
        A finding for each rule; ``None`` if a line is not a row or does not break the rule.
    """
    found = []
    by_code = sorted(lines, key=itemgetter(0))  # stable
    for code, group in groupby(by_code, key=itemgetter(0)):
        _, numbers, texts = zip(*group, strict=True)
        data = b"\n".join([*texts, b""])
        view = RunView.of_file(scan_columns(Source(path, data), N_FIELDS))
        rule = CATALOGUE[code]
        hit = rule.check(PairView(view) if rule.on == "pair" else view)
        if hit is None or hit.count != len(numbers) or view.n_rows != len(numbers):
            return None
        finding = rule.finding(hit, path)
        places = tuple(numbers[line - 1] for line in finding.lines)
        found.append(replace(finding, line=places[0], lines=places, every_line=places))
    return found


def depth_finding(path: str, query_ids: Sequence[str], sizes: Rows, limit: int) -> Finding:
    """Return the finding on a run whose lines are rows grouped by query, some of them too deep.

    Args:
        path: The run, as the user named it.
        query_ids: The queries.
        sizes: The number of results of each query.
        limit: The number of results allowed.
    """
    beyond = (np.cumsum(sizes) - sizes + limit + 1)[sizes > limit]
    lines = beyond[:LINES_KEPT].tolist()
    return CATALOGUE["R161"].finding(deep_queries(query_ids, sizes, limit, lines), path)


def judged_finding(path: str, share: float) -> Finding:
    """Return the finding on a run with few judged documents.

    Args:
        path: The run, as the user named it.
        share: The share of judged documents in the first ``JUDGED_CUTOFF``, below ``MIN_JUDGED``.
    """
    hit = few_judged(share)
    assert hit is not None
    return CATALOGUE["P105"].finding(hit, path)


def in_catalogue_order(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings like the rules."""
    order = {rule.code: at for at, rule in enumerate(CATALOGUE)}
    return sorted(findings, key=lambda finding: order[finding.code])
