"""Validate, fetch, score and compare TREC runs.

The package exports functions for everything that the command line does::

    from trectools_plus import load_qrels, load_run, evaluate

    evaluation = evaluate(load_qrels("qrels.txt"), load_run("my.run"), ["nDCG@10", "AP"])

Names are imported on first use, so importing the package takes almost no time.
"""

from __future__ import annotations

from importlib import import_module

from trectools_plus.lazy_names import import_lazily, register_renderings

__version__ = "0.2.0"

__getattr__, __dir__ = import_lazily(
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
        "retrieval.fetch": ["fetch"],
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


register_renderings(lambda: import_module("trectools_plus.reporting"))
