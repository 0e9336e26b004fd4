from __future__ import annotations

import re

import pytest
from bm25s import stopwords
from harness.tables import cases_of

from trectools_plus.errors import UsageError
from trectools_plus.retrieval.fusion import Fusion, fusion_of
from trectools_plus.retrieval.index.lexical import Analyzer
from trectools_plus.retrieval.setting_types import make_model
from trectools_plus.retrieval.settings import STOPWORD_LANGUAGES, RetrievalSettings


@pytest.mark.parametrize(("values", "part"), cases_of(__file__, "refused"))
def test_refuses(values: dict[str, object], part: str) -> None:
    with pytest.raises(UsageError, match=part):
        make_model(RetrievalSettings, values)


def test_survives_json() -> None:
    settings = make_model(
        RetrievalSettings,
        {"stopwords": "german", "stemmer": "none", "fusion": "combsum", "language": "de"},
    )
    assert (settings.stopwords, settings.stemmer) == ("german", None)
    assert settings.model_dump()["language"] == "de"
    assert RetrievalSettings.model_validate_json(settings.model_dump_json()) == settings


@pytest.mark.parametrize("language", STOPWORD_LANGUAGES)
def test_every_stop_word_list_exists(language: str) -> None:
    name = "EN" if language == "english" else language.upper()
    listed = [word.lower() for word in getattr(stopwords, f"STOPWORDS_{name}")]
    words = [word for word in listed if re.fullmatch(r"[^\W\d_]{2,}", word)]
    assert len(words) > 20
    text = " ".join(words)
    assert Analyzer(RetrievalSettings(stopwords=language)).terms(text) == []
    kept = Analyzer(RetrievalSettings(stopwords=None, stemmer=None)).terms(text)
    assert len(kept) == len(words)


def test_hybrid_of_terms_merges_n_grams_by_default() -> None:
    terms = RetrievalSettings().for_documents(has_parts=True)
    assert terms.merged == ("lexical", "vector", "ngram")
    assert fusion_of(terms, terms.merged) == Fusion(
        method="weighted", weights=(0.3, 0.3, 0.4), normalisation="z-score"
    )
    assert terms.for_documents(has_parts=True) == terms
    by_rank = RetrievalSettings(fusion="rrf").for_documents(has_parts=True)
    assert by_rank.merged == terms.merged
    assert fusion_of(by_rank, by_rank.merged) == Fusion(method="rrf")


@pytest.mark.parametrize(
    ("settings", "has_parts"),
    [(RetrievalSettings(), False), (RetrievalSettings(multi_vector=False), True)],
)
def test_hybrid_of_whole_documents_merges_two(settings: RetrievalSettings, has_parts: bool) -> None:
    chosen = settings.for_documents(has_parts=has_parts)
    assert chosen.merged == ("lexical", "vector")
    assert fusion_of(chosen, chosen.merged) == Fusion(
        method="weighted", weights=(0.6, 0.4), normalisation="min-max"
    )
    assert fusion_of(chosen, ("lexical", "vector", "splade")).weights == (1 / 3,) * 3


@pytest.mark.parametrize(
    ("given", "merged", "weights"),
    cases_of(__file__, "rows"),
)
@pytest.mark.parametrize("has_parts", [False, True])
def test_components_and_weights_by_name(
    given: dict[str, object], merged: tuple[str, ...], weights: tuple[float, ...], has_parts: bool
) -> None:
    settings = make_model(RetrievalSettings, given).for_documents(has_parts=has_parts)
    assert settings.merged == tuple(merged)
    assert fusion_of(settings, settings.merged).weights == tuple(weights)
    assert RetrievalSettings.model_validate(settings.model_dump(mode="json")) == settings


def test_defaults_of_recent_settings_are_not_written() -> None:
    written = RetrievalSettings().for_documents(has_parts=False).model_dump()
    assert not {"components", "rewording", "language"} & written.keys()
    changed = RetrievalSettings(rewording=False).for_documents(has_parts=True).model_dump()
    assert changed["rewording"] is False
    assert changed["components"] == ("lexical", "vector", "ngram")
