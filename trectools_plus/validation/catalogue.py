"""All rules of the validators, as one value."""

from __future__ import annotations

from trectools_plus.validation.registry import Registry
from trectools_plus.validation.rules import (
    files,
    hashed,
    invisible,
    pair_documents,
    pair_queries,
    qrels_columns,
    qrels_documents,
    qrels_grades,
    run_columns,
    run_documents,
    run_ranks,
    run_scores,
    run_spacing,
    run_ties,
)

CATALOGUE = Registry.of_modules(
    files,
    hashed,
    invisible,
    pair_documents,
    pair_queries,
    qrels_columns,
    qrels_documents,
    qrels_grades,
    run_columns,
    run_documents,
    run_ranks,
    run_scores,
    run_spacing,
    run_ties,
)
