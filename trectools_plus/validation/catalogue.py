"""All rules of the validators, as one value."""

from __future__ import annotations

from trectools_plus.validation.registry import Registry
from trectools_plus.validation.rules import (
    files,
    hashed,
    invisible,
    packing,
    pair_documents,
    pair_queries,
    pair_ties,
    qrels_columns,
    qrels_documents,
    qrels_grades,
    run_columns,
    run_documents,
    run_ids,
    run_ranks,
    run_scores,
    run_spacing,
    run_swapped,
    run_tag,
    run_ties,
    topics_lines,
    topics_texts,
    topics_values,
)

CATALOGUE = Registry.of_modules(
    files,
    hashed,
    invisible,
    packing,
    pair_documents,
    pair_queries,
    pair_ties,
    qrels_columns,
    qrels_documents,
    qrels_grades,
    run_columns,
    run_documents,
    run_ids,
    run_ranks,
    run_scores,
    run_spacing,
    run_swapped,
    run_tag,
    run_ties,
    topics_lines,
    topics_texts,
    topics_values,
)
