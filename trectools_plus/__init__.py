"""Validate, fetch, score and compare TREC runs.

Everything the command line does is one import away::

    from trectools_plus import load_qrels, load_run, evaluate

    evaluation = evaluate(load_qrels("qrels.txt"), load_run("my.run"), ["nDCG@10", "AP"])

Names are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from trectools_plus.benchmark.compare import compare as compare
    from trectools_plus.benchmark.config import BenchmarkConfig as BenchmarkConfig
    from trectools_plus.benchmark.hpo import load_hpo_collection as load_hpo_collection
    from trectools_plus.benchmark.runner import run_benchmark as run_benchmark
    from trectools_plus.errors import TrectoolsPlusError as TrectoolsPlusError
    from trectools_plus.formats.collection import Collection as Collection
    from trectools_plus.formats.collection import load_collection as load_collection
    from trectools_plus.formats.corpus import read_corpus as read_corpus
    from trectools_plus.formats.qrels import write_qrels as write_qrels
    from trectools_plus.formats.run import write_run as write_run
    from trectools_plus.formats.tables import Corpus as Corpus
    from trectools_plus.formats.tables import Qrels as Qrels
    from trectools_plus.formats.tables import Run as Run
    from trectools_plus.formats.tables import Topics as Topics
    from trectools_plus.formats.topics import read_topics as read_topics
    from trectools_plus.measures.base import BaseMeasure as BaseMeasure
    from trectools_plus.measures.evaluator import evaluate as evaluate
    from trectools_plus.measures.names import explain as explain
    from trectools_plus.measures.residuals import residual_bounds as residual_bounds
    from trectools_plus.measures.ties import tie_bounds as tie_bounds
    from trectools_plus.reporting.files import write_reports as write_reports
    from trectools_plus.retrieval.fetch import fetch as fetch
    from trectools_plus.retrieval.run_fusion import fuse_runs as fuse_runs
    from trectools_plus.validation.engine import validate_qrels as validate_qrels
    from trectools_plus.validation.engine import validate_run as validate  # noqa: F401
    from trectools_plus.validation.loading import load_qrels as load_qrels
    from trectools_plus.validation.loading import load_run as load_run

_HOMES = {
    "BaseMeasure": "measures.base",
    "BenchmarkConfig": "benchmark.config",
    "Collection": "formats.collection",
    "Corpus": "formats.tables",
    "Qrels": "formats.tables",
    "Run": "formats.tables",
    "Topics": "formats.tables",
    "TrectoolsPlusError": "errors",
    "compare": "benchmark.compare",
    "evaluate": "measures.evaluator",
    "explain": "measures.names",
    "fetch": "retrieval.fetch",
    "fuse_runs": "retrieval.run_fusion",
    "load_collection": "formats.collection",
    "load_hpo_collection": "benchmark.hpo",
    "load_qrels": "validation.loading",
    "load_run": "validation.loading",
    "read_corpus": "formats.corpus",
    "read_topics": "formats.topics",
    "residual_bounds": "measures.residuals",
    "run_benchmark": "benchmark.runner",
    "tie_bounds": "measures.ties",
    "validate": "validation.engine:validate_run",
    "validate_qrels": "validation.engine",
    "write_qrels": "formats.qrels",
    "write_reports": "reporting.files",
    "write_run": "formats.run",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, original = _HOMES[name].partition(":")
    return getattr(import_module(f"{__name__}.{module}"), original or name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
