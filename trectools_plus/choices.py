"""Values that users choose from, and defaults. ``--help`` loads this small module and no others."""

from __future__ import annotations

from typing import Literal, get_args

Missing = Literal["zero", "drop"]
"""A judged query without results counts as zero, or is not part of means."""
DEFAULT_MEASURES = ("nDCG@10", "AP@100", "RR@10", "R@50", "R@100", "HitRate@10")
Correction = Literal["holm", "bonferroni", "benjamini_hochberg", "tukey_hsd"]
"""Adjustments of p-values for the number of comparisons."""

AggregationName = Literal[
    "label_only", "label_synonyms_min", "label_synonyms_max", "all_max", "all_weighted"
]
"""Methods that combine the scores of a document's parts, see ``retrieval/index/parts.py``."""
Normalisation = Literal["min-max", "z-score"]
FusionMethod = Literal["rrf", "weighted", "combsum", "combmnz", "combmax"]
CollapseMethod = Literal["max", "first", "sum"]
"""MaxP, FirstP and SumP: methods that combine the scores of a document's chunks."""
RerankerName = Literal["lexical", "cross-encoder"]
Device = Literal["cpu", "cuda"]

MODES = ("lexical", "vector", "hybrid")
"""The embedded modes that are searched by default."""
STRATEGIES: tuple[AggregationName, ...] = get_args(AggregationName)
"""Each of these methods can also be used as a mode."""
MODE_ALIASES = {"bm25": "lexical", "dense": "vector"}
ALL_MODES = (*MODES, "splade", *STRATEGIES, *MODE_ALIASES)

Dedup = Literal["best", "first", "last"]
"""The row that is kept of a repeated document."""
OnConflict = Literal["max", "min", "last"]
"""The grade that is kept of a document with several judgments."""
FindingsFormat = Literal["text", "concise", "json", "github", "sarif", "junit"]
ProfileName = Literal["default", "trec", "submission"]

TestSetForm = Literal["json", "yaml", "trec", "trec-jsonl", "beir"]
KappaWeights = Literal["none", "linear", "quadratic"]

ExtractionMethod = Literal["dictionary", "retrieval", "both"]
RetrieverName = Literal["lexical", "vector", "hybrid", AggregationName]
ChunkLevel = Literal["sentence", "clause", "phrase"]
View = Literal["present", "any", "strict"]
Matching = Literal["exact", "soft"]
