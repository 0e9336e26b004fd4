"""Reports made by hand, so that rendering is tested without any retrieval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import pytest

from trectools_plus.benchmark.report.model import (
    BenchmarkReport,
    DatasetInfo,
    Diagnostics,
    Manifest,
    MeasureDefinition,
    MeasureResult,
    ModeResult,
    RunFile,
)
from trectools_plus.benchmark.report.verdict import add_result
from trectools_plus.benchmark.run.targets import AD_HOC_TARGETS, judge_mean
from trectools_plus.measures.scoring import Ties
from trectools_plus.retrieval.outcome import Latency
from trectools_plus.statistics.comparison import Comparison, ConfidenceInterval

LABELS = {"lexical": "Lexical-Only", "vector": "Vector-Only", "hybrid": "Hybrid"}
THREE_MODES = {
    "lexical": {"nDCG@10": 0.3227, "RR@10": 0.61},
    "vector": {"nDCG@10": 0.2966, "RR@10": 0.58},
    "hybrid": {"nDCG@10": 0.3417, "RR@10": 0.63},
}

MakeReport = Callable[..., BenchmarkReport]


def interval(low: float | None, high: float | None) -> ConfidenceInterval:
    return ConfidenceInterval(
        low=low, high=high, level=0.95, method="percentile bootstrap", resamples=10_000
    )


def measured(name: str, mean: float | None) -> MeasureResult:
    target = AD_HOC_TARGETS.get(name)
    return MeasureResult(
        mean=mean,
        median=mean,
        std=0.2,
        n=225,
        ci=interval(*((None, None) if mean is None else (mean - 0.03, mean + 0.03))),
        definition=MeasureDefinition(
            formula=f"formula of {name}",
            gain="1 or 0",
            cutoff=10,
            denominator="R",
            relevance_level=1,
            ties="by id",
            averaged_over="judged queries",
            provider="pytrec_eval 0.5",
            trec_eval_call=f"trec_eval -m {name}",
        ),
        target=None if target is None else judge_mean(mean, target),
    )


def compared(baseline: str, contrast: str, name: str, difference: float) -> Comparison:
    return Comparison(
        baseline=baseline,
        contrast=contrast,
        measure=name,
        n=225,
        difference=difference,
        ci=interval(difference - 0.02, difference + 0.02).model_copy(
            update={"method": "Student t", "resamples": 0}
        ),
        p_adjusted=0.01 if abs(difference) > 0.02 else 0.4,
        test="t_test",
        correction="holm",
        family="3 comparisons on one measure: every pair of 3 modes",
        significant=abs(difference) > 0.02,
        effect_size=difference * 5,
        wins=100,
        ties=25,
        losses=100,
    )


@pytest.fixture
def make_report() -> MakeReport:
    def make(
        means: Mapping[str, Mapping[str, float | None]] = THREE_MODES,
        *,
        latency: bool = True,
        diagnostics: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> BenchmarkReport:
        names = list(next(iter(means.values())))
        modes = {
            mode: ModeResult(
                label=LABELS.get(mode, mode),
                run=RunFile(
                    path=f"runs/{mode}.run",
                    sha256="0" * 64,
                    queries=225,
                    results=22500,
                    depth=100,
                    ties=Ties(3, 0, 2, {10: 1}),
                ),
                measures={name: measured(name, mean) for name, mean in values.items()},
                latency_ms=Latency(mean=0.4, p50=0.31, p95=0.92, p99=1.4) if latency else None,
                diagnostics=Diagnostics(
                    **{
                        "findings": [],
                        "queries_without_relevant": [],
                        "missing_queries": [],
                        "judged": {"Judged@10": 0.5},
                        "shallow_queries": [],
                        "status": "complete",
                        **(diagnostics or {}),
                    }
                ),
            )
            for mode, values in means.items()
        }
        comparisons = [
            compared(first, other, name, (means[other][name] or 0) - (means[first][name] or 0))
            for first, other in combinations(means, 2)
            for name in names
        ]
        best = {
            name: max(means, key=lambda mode: means[mode][name] or 0) if len(means) > 1 else None
            for name in names
        }
        significant = {
            name: mode is not None
            and all(
                entry.significant
                for entry in comparisons
                if entry.measure == name and mode in (entry.baseline, entry.contrast)
            )
            for name, mode in best.items()
        }
        manifest = Manifest(
            experiment_id="20250131-120000-0f3a9c21",
            created_at="2025-01-31T12:00:00Z",
            dataset=DatasetInfo(
                id="irds:cranfield",
                version=None,
                queries=225,
                documents=1400,
                sha256="2" * 64,
                contents={"qrels": "1" * 64},
            ),
            config={"seed": 42, "missing": "zero"},
            config_hash="0f3a9c21" + "0" * 56,
            index_snapshots={},
            packages={"trectools-plus": "0.1.0"},
            python="CPython 3.11.7",
            platform="linux x86_64",
            seed=42,
            command="trectools-plus benchmark run --dataset irds:cranfield",
        )
        whole: dict[str, Any] = {
            "manifest": manifest,
            "modes": modes,
            "comparisons": comparisons,
            "best_mode": best,
            "best_mode_significant": significant,
            "failing_queries": [],
            **fields,
        }
        return add_result(BenchmarkReport(**whole))

    return make
