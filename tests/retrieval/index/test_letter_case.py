"""Static vectors, lexical search and what is made of them do not depend on letter case."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trectools_plus.choices import ALL_MODES, MODE_ALIASES
from trectools_plus.formats.tables import Corpus
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.retrieval.backends.embedded import build_retrievers
from trectools_plus.retrieval.hpo.ontology_terms import corpus_of

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
    found = {}
    for mode, retriever in build_retrievers(corpus, MODES).items():
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
