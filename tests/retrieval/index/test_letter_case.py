"""Static vectors, lexical search and what is made of them do not depend on letter case."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trectools_plus.choices import ALL_MODES, MODE_ALIASES
from trectools_plus.formats.collection import load_collection
from trectools_plus.formats.files.index_cache import IndexRecipe, open_index
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.progress import no_progress
from trectools_plus.retrieval.backends.embedded.backend import build_retrievers
from trectools_plus.retrieval.backends.embedded.modes import puts_exact_first
from trectools_plus.retrieval.fetch.fetch import fetch
from trectools_plus.retrieval.index.encoder import DIMENSIONS, MODEL, TextEncoder
from trectools_plus.retrieval.ontology_terms import corpus_of

MODES = tuple(mode for mode in ALL_MODES if mode != "splade" and mode not in MODE_ALIASES)
"""Every mode that needs no model of the user."""
WORDS = ("seizure", "short", "stature", "crâne", "e\u0301le\u0301vation", "größe", "iga", "žuljić")
TEXTS = {
    "d1": "short stature",
    "d2": "focal seizure",
    "d3": "iga deficiency",
    "d4": "élévation du crâne",
    "d5": "größe žuljić",
}


def terms_of(texts: list[str], folder: Path) -> Corpus:
    """An ontology whose terms have these labels and synonyms."""
    stanzas = [
        f"[Term]\nid: T:{number}\nname: {text}\n"
        f'synonym: "{text} of x" EXACT []\ndef: "{text} y." []\n'
        for number, text in enumerate(texts)
    ]
    path = folder / "terms.obo"
    path.write_text("format-version: 1.2\n\n" + "\n".join(stanzas), encoding="utf-8")
    return corpus_of(Ontology.from_obo(path))


def documents_of(texts: list[str], folder: Path) -> Corpus:
    return Corpus(pl.DataFrame({"doc_id": list(TEXTS), "title": texts, "text": texts}))


def search(corpus: Corpus, query: str) -> dict[str, list[tuple[str, float]]]:
    modes = [mode for mode in MODES if corpus.find_exact or not puts_exact_first(mode)]
    found = {}
    for mode, retriever in build_retrievers(corpus, modes).items():
        (ranking,) = retriever.search([query], 5)
        found[mode] = list(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
    return found


def recased(text: str, upper: list[bool]) -> str:
    """The text with some letters in upper case; ß has none of one letter."""
    pairs = zip(text, (upper * len(text))[: len(text)], strict=True)
    return "".join(c.upper() if up and len(c.upper()) == 1 else c for c, up in pairs)


CASES = st.lists(st.booleans(), min_size=1, max_size=8)


@settings(
    max_examples=settings().max_examples // 4,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), query_case=CASES, cases=CASES
)
@pytest.mark.parametrize("make", [documents_of, terms_of])
def test_case_of_queries_and_documents_changes_nothing(
    make: Callable[[list[str], Path], Corpus],
    tmp_path: Path,
    words: list[str],
    query_case: list[bool],
    cases: list[bool],
) -> None:
    query, texts = " ".join(words), list(TEXTS.values())
    expected = search(make(texts, tmp_path), query)
    other = make([recased(text, cases) for text in texts], tmp_path)
    assert search(other, recased(query, query_case)) == expected


def test_vectors_of_upper_and_lower_case_are_equal() -> None:
    texts = ["Short stature", "ÉLÉVATION", "E\u0301LE\u0301VATION", "J\u030cA", "GRÖẞE"]
    encoder = TextEncoder()
    for embed in (encoder.embed_documents, encoder.embed_queries):
        lower = embed([text.lower() for text in texts])
        assert (embed(texts) == lower).all()
    assert (
        encoder.embed_documents(["ÉLÉVATION"]) == encoder.embed_documents(["E\u0301le\u0301vation"])
    ).all()


def test_an_index_of_vectors_that_kept_the_case_is_not_used() -> None:
    corpus = Corpus.from_dict({"a": "Heart attack", "b": "Swept wing"})
    documents = corpus.in_index_order()
    facts = {"model": MODEL, "dimensions": DIMENSIONS, "wordllama": version("wordllama")}

    def build(folder: Path) -> None:
        vectors = TextEncoder().embed_documents(documents.searchable_texts())
        np.save(folder / "vectors.npy", vectors[::-1])

    earlier = IndexRecipe("vector", {"corpus_sha256": documents.sha256(), **facts})
    open_index(earlier, build, lambda folder: None, no_progress)
    (found,) = build_retrievers(corpus, ["vector"])["vector"].search(["heart attack"], 1)
    assert found.doc_ids == ["a"]


@pytest.mark.slow("searches a real collection in every mode")
def test_upper_case_queries_find_the_same_on_a_real_collection(
    ir_datasets_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
    collection = load_collection("irds:cranfield")
    assert collection.corpus is not None

    def rows(topics: Topics) -> dict[str, list[Any]]:
        assert collection.corpus is not None
        modes = [mode for mode in MODES if not puts_exact_first(mode)]
        fetched = fetch(collection.corpus, topics, modes, depth=10)
        return {mode: result.run.frame.rows() for mode, result in fetched.items()}

    topics = Topics(collection.topics.frame.head(20))
    shouted = Topics(topics.frame.with_columns(pl.col("text").str.to_uppercase()))
    assert rows(shouted) == rows(topics)
