from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import InputError, UsageError
from trectools_plus.retrieval.fusion import Fusion, fuse_rankings
from trectools_plus.retrieval.source import Ranking, rank_scores

rankings = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=2),
    st.floats(-100, 100, width=32),
    max_size=12,
).map(lambda table: rank_scores(list(table), np.array(list(table.values()), dtype=float), 100))


def ranking(**scores: float) -> Ranking:
    return rank_scores(list(scores), np.array(list(scores.values()), dtype=float), 100)


def as_dict(fused: Ranking) -> dict[str, float]:
    return dict(zip(fused.doc_ids, fused.scores.tolist(), strict=True))


METHODS = ("rrf", "weighted", "combsum", "combmnz", "combmax")
LEXICAL = ranking(a=9.0, b=5.0, c=1.0)
VECTOR = ranking(b=0.9, d=0.5)


@pytest.mark.parametrize(
    ("fusion", "expected"),
    [
        # min-max: lexical a 1, b 0.5, c 0; vector b 1, d 0
        (
            Fusion(method="weighted", weights=(0.25, 0.75)),
            {"a": 0.25, "b": 0.875, "c": 0, "d": 0},
        ),
        (Fusion(), {"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 63, "d": 1 / 62}),
        (Fusion(k=0), {"a": 1, "b": 1 / 2 + 1, "c": 1 / 3, "d": 1 / 2}),
        (Fusion(method="combsum"), {"a": 1, "b": 1.5, "c": 0, "d": 0}),
        (Fusion(method="combmnz"), {"a": 1, "b": 3, "c": 0, "d": 0}),
        (Fusion(method="combmax"), {"a": 1, "b": 1, "c": 0, "d": 0}),
        # z-score: lexical mean 5, deviation sqrt(32/3); vector mean 0.7, deviation 0.2.
        # What a ranking lacks counts as its last: a and c in vector -1, d in lexical as c.
        (
            Fusion(method="combsum", normalisation="z-score"),
            {"a": 1.2247449 - 1, "b": 1.0, "c": -1.2247449 - 1, "d": -1.2247449 - 1},
        ),
        (
            Fusion(method="combmax", normalisation="z-score"),
            {"a": 1.2247449, "b": 1.0, "c": -1.2247449, "d": -1.0},
        ),
        (
            Fusion(method="combsum", normalisation="none"),
            {"a": 9 + 0.5, "b": 5 + 0.9, "c": 1 + 0.5, "d": 1 + 0.5},
        ),
        (
            Fusion(method="combmnz", normalisation="none"),
            {"a": 9 + 0.5, "b": 2 * (5 + 0.9), "c": 1 + 0.5, "d": 1 + 0.5},
        ),
        (Fusion(method="combmax", normalisation="none"), {"a": 9, "b": 5, "c": 1, "d": 0.5}),
    ],
)
def test_score_fusion_by_hand(fusion: Fusion, expected: dict[str, float]) -> None:
    fused = fuse_rankings([LEXICAL, VECTOR], fusion, 10)
    assert as_dict(fused) == pytest.approx(expected, rel=1e-6)


def test_combmnz_refuses_negative_scores_without_normalisation() -> None:
    fusion = Fusion(method="combmnz", normalisation="none")
    with pytest.raises(InputError, match="0"):
        fuse_rankings([ranking(a=1.0, b=-1.0)], fusion, 10)


@pytest.mark.parametrize("normalisation", ["min-max", "z-score"])
def test_equal_scores_say_only_what_was_found(normalisation: str) -> None:
    fusion = Fusion.model_validate({"method": "combsum", "normalisation": normalisation})
    assert as_dict(fuse_rankings([ranking(x=7.0), ranking()], fusion, 10)) == {"x": 1.0}


@pytest.mark.parametrize("method", METHODS)
@given(found=st.lists(rankings, min_size=1, max_size=4), depth=st.integers(1, 30))
def test_sorted_cut_and_exact_in_32_bits(method: str, found: list[Ranking], depth: int) -> None:
    weights = tuple(1.0 + n for n in range(len(found))) if method == "weighted" else None
    fusion = Fusion(method=method, weights=weights)
    whole, top = fuse_rankings(found, fusion, 1000), fuse_rankings(found, fusion, depth)
    assert whole.scores.dtype == np.float32
    assert (whole.head(depth).doc_ids, whole.head(depth).scores.tolist()) == (
        top.doc_ids,
        top.scores.tolist(),
    )
    keys = list(zip(whole.scores.tolist(), [doc.encode() for doc in whole.doc_ids], strict=True))
    assert keys == sorted(keys, reverse=True)
    assert set(whole.doc_ids) == {doc for ranking in found for doc in ranking.doc_ids}


@pytest.mark.parametrize(
    "values",
    [
        {"method": "bordafuse"},
        {"method": "weighted"},
        {"method": "rrf", "weights": (1, 2)},
        {"method": "weighted", "weights": (0, 0)},
        {"method": "weighted", "weights": (float("nan"), 1)},
        {"method": "combmnz", "normalisation": "z-score"},
    ],
)
def test_refuses_what_does_not_go_together(values: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        Fusion(**values)  # type: ignore[arg-type]


def test_refuses_to_normalise_infinite_scores() -> None:
    huge = Ranking(["a", "b"], np.array([np.inf, 1], dtype=np.float32))
    with pytest.raises(InputError, match="32"):
        fuse_rankings([huge], Fusion(method="combsum"), 10)
    assert fuse_rankings([huge], Fusion(), 10).doc_ids == ["a", "b"]
