"""Values that users choose from, defaults, and help of options.

The module imports nothing heavy: commands that start fast use it instead of the models of settings.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NamedTuple, get_args


class Panel(StrEnum):
    """Panels of the help of commands."""

    DATA = "Data"
    FIGURES = "Measures and statistics"
    SEARCH = "Search"
    MODELS = "Models and rerankers"
    BACKENDS = "Backends"


Missing = Literal["zero", "drop"]
"""Judged queries without results count as zero, or are left out of the means."""
NoRelevant = Literal["zero", "drop"]
"""Judged queries without a relevant document count as zero, or are left out of the means."""
RELEVANT = 1
"""A query has a relevant document if it has one of this grade or more; the same for all measures,
whatever their relevance level."""

MISSING_HELP = (
    "Judged queries without results: zero counts them as 0 (trec_eval -c), drop leaves them out of "
    "the means."
)
NO_RELEVANT_HELP = (
    "Judged queries without a relevant document: zero counts them as 0 (as trec_eval), drop leaves "
    "them out of the means."
)


class Averaging(NamedTuple):
    """The queries that means are over.

    Attributes:
        missing: The treatment of judged queries without results.
        no_relevant: The treatment of judged queries without a document of grade 1 or more.
    """

    missing: Missing = "zero"
    no_relevant: NoRelevant = "zero"

    def __str__(self) -> str:
        """Return the settings as options: ``missing=zero, no_relevant=zero``."""
        return f"missing={self.missing}, no_relevant={self.no_relevant}"


TargetStatus = Literal["below_baseline", "baseline", "below_competitive", "competitive", "strong"]
"""Levels of a target; see ``benchmark/run/targets.py``."""
DEFAULT_MEASURES = ("nDCG@10", "AP@100", "RR@10", "R@50", "R@100", "HitRate@10")
MEASURE_HELP = (
    "Measure, for example nDCG@10, AP(rel=2)@100, MRR@10 or ndcg_cut.10; several comma-separated, "
    "or repeat the option."
)
ONTOLOGY_HELP = "OBO file with the terms that are the documents of hpo and that MaxOntSim compares."

AggregationName = Literal["label_only", "label_synonyms_max", "all_max", "all_weighted"]
"""Aggregations of the scores of a document's parts; see ``retrieval/index/parts.py``."""
Normalisation = Literal["min-max", "z-score", "none"]
FusionMethod = Literal["rrf", "weighted", "combsum", "combmnz", "combmax"]
"""Methods of merging rankings; see ``retrieval/fusion.py``."""
Device = Literal["cpu", "cuda"]

MODES = ("lexical", "vector", "hybrid")
"""The default modes of the embedded backend."""
STRATEGIES: tuple[AggregationName, ...] = get_args(AggregationName)
"""Aggregation strategies; each is a mode too."""
MERGED_MODES = ("lexical", "vector", "splade", "ngram")
"""The modes that ``hybrid`` can merge, in the order of its weights."""
MODE_ALIASES = {"bm25": "lexical", "dense": "vector"}
ALL_MODES = (*MODES, "ngram", "splade", *STRATEGIES, *MODE_ALIASES)


MODEL_JUDGED = "model:"
"""The begin of the second column of qrels in judgments of a model, before its name."""
DEFAULT_POOL_DEPTH = 10
"""Results of each run that are pooled for judgments."""
DEFAULT_PEOPLE = 30
"""Queries of a plan that people are to judge."""
DEFAULT_LONGEST = 6000
"""Characters of a document that a model is shown."""
MAX_TAG_LENGTH = 64
"""Default limit of the length of a run tag, in characters."""

TestSetForm = Literal["json", "yaml", "trec", "trec-jsonl", "beir"]
UnknownTerms = Literal["error", "drop"]
"""Expected ids that are not terms of the ontology are an error, or are left out."""

View = Literal["present", "any", "strict"]
