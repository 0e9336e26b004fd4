"""Validate, fetch, score and compare TREC runs.

The package exports functions for everything that the command line does::

    from trectools_plus import load_qrels, load_run, evaluate

    evaluation = evaluate(load_qrels("qrels.txt"), load_run("my.run"), ["nDCG@10", "AP"])

Names are imported on first use, so importing the package takes almost no time.
"""

from __future__ import annotations

from typing import Any

from trectools_plus.lazy_names import import_lazily, register_renderings

__version__ = "0.2.0"

_EQUIVALENTS = {
    "EvaluationReport": "trectools_plus.benchmark.BenchmarkReport",
    "ExperimentManifest": "load_report(path).manifest",
    "compare_models": "run_benchmark, with BenchmarkConfig(retrieval={'embedding_model': {…}})",
    "bootstrap_confidence_interval": "trectools_plus.statistics.bootstrap_intervals",
    "paired_bootstrap_test": "trectools_plus.statistics.paired_difference",
    "ndcg_at_k": "evaluate(qrels, run, ['nDCG@10'])",
}
"""Names of other tools; the import of one fails with its equivalent here."""

_get, __dir__ = import_lazily(
    __name__,
    {
        "benchmark": ["BenchmarkConfig", "compare_reports", "load_report", "run_benchmark"],
        "benchmark.compare.comparisons": ["compare"],
        "benchmark.evaluate": ["evaluate"],
        "benchmark.run.dataset": ["load_collection"],
        "errors": ["TrectoolsPlusError"],
        "formats": [
            "Collection",
            "Corpus",
            "Qrels",
            "Run",
            "Topics",
            "load_corpus",
            "write_qrels",
            "write_run",
        ],
        "measures": ["BaseMeasure", "BaseMetric", "Evaluation", "explain"],
        "ontology": ["Ontology", "load_ontology"],
        "reporting": ["write_reports"],
        "retrieval": ["fuse"],
        "retrieval.fetch.fetch": ["fetch"],
        "testsets": ["TestSet", "load_test_set", "validate_test_sets"],
        "validation": [
            "load_qrels",
            "load_run",
            "load_topics",
            "validate",
            "validate_qrels",
            "validate_run",
            "validate_topics",
        ],
    },
)


def _load_renderings() -> object:
    from trectools_plus import reporting

    return reporting


register_renderings(_load_renderings)


def __getattr__(name: str) -> Any:
    if name in _EQUIVALENTS:
        # "from … import" would replace the message of an AttributeError.
        raise ImportError(f"{name} has another name here: use {_EQUIVALENTS[name]}", name=name)
    return _get(name)
