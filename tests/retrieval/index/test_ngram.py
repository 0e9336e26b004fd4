"""Search by character n-grams after folding of spellings."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from trectools_plus.formats.tables import CORPUS_SCHEMA, PARTS_SCHEMA, Corpus
from trectools_plus.retrieval.index.ngram import NgramRetriever, fold_spelling
from trectools_plus.retrieval.index.parts import TextParts

TEXTS = {
    "d1": "macrocephaly and microcephaly",
    "d2": "hematuria; hematuria, rarely",
    "d3": "short hands",
    "d4": "",
    "d5": "arthrogryposis of 11 joints",
}


def retriever(corpus: Corpus | dict[str, str]) -> NgramRetriever:
    documents = Corpus.from_dict(corpus) if isinstance(corpus, dict) else corpus
    parts = None if documents.parts is None else TextParts.from_corpus(documents)
    return NgramRetriever(documents, parts)


def found(one: NgramRetriever, query: str, depth: int = 10) -> list[tuple[str, float]]:
    (ranking,) = one.search([query], depth)
    return list(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))


@pytest.mark.parametrize(
    "spellings",
    [
        ["macrocephaly", "Makrozephalie", "macrocéphalie", "macrocefalia", "MAKROCEFALI"],
        ["haematuria", "hematuria", "Hämaturia", "Ha\u0308maturi", "hématurio"],
        ["oedema", "edema", "Ödem", "œdema"],
        ["quadriplegia", "Kwadriplegie", "kvadriplegi"],
        ["arthritis", "artritis", "Arthritis"],
        ["rhythm", "ritm"],
        ["strabismus", "Strabismu", "Strabismo"],
        ["fluxus", "fluksus", "Flucso"],
        ["Fuß", "fuss", "FUSS"],
    ],
)
def test_spellings_of_one_word_are_equal(spellings: list[str]) -> None:
    assert len({*map(fold_spelling, spellings)}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("22q11", "22q1"), ("hypertension", "hypotension"), ("type 11", "type 1"), ("left", "right")],
)
def test_other_words_and_numbers_are_not_equal(one: str, other: str) -> None:
    assert fold_spelling(one) != fold_spelling(other)


def test_scores_are_those_of_scikit_learn() -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    generator = np.random.default_rng(7)
    words = ["cephaly", "micro", "a", "in", "renal", "cyst", "kidney", "of", "hand", "11", "größe"]
    texts = {f"d{n}": " ".join(generator.choice(words, 4)) for n in range(60)}
    vectorizer = text.TfidfVectorizer(
        preprocessor=fold_spelling, analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True
    )
    weights = vectorizer.fit_transform(texts.values())
    for query in ("renal kidney kidney", "a hands", "macrocephaly 1", "grosse"):
        expected = (vectorizer.transform([query]) @ weights.T).toarray()[0]
        scores = dict(found(retriever(texts), query, 100))
        assert len(scores) == np.count_nonzero(expected)
        for doc_id, value in zip(texts, expected.tolist(), strict=True):
            assert scores.get(doc_id, 0) == pytest.approx(value, rel=1e-6)


TERMS = [
    ("t1", "label", "Abnormality of the kidney"),
    ("t1", "synonym", "Renal abnormality"),
    ("t1", "synonym", "Nephropathy"),
    ("t1", "definition", "Hematuria can occur."),
    ("t2", "label", "Hematuria"),
    ("t3", "definition", "A cyst of the spleen."),
]


def terms(parts: list[tuple[str, str, str]] = TERMS) -> Corpus:
    rows = [(doc_id, "", "") for doc_id in ("t1", "t2", "t3", "t4")]
    return Corpus(
        pl.DataFrame(rows, schema=CORPUS_SCHEMA, orient="row"),
        parts=pl.DataFrame(parts, schema=PARTS_SCHEMA, orient="row"),
    )


def test_the_best_name_of_a_term_counts() -> None:
    one = retriever(terms())
    assert found(one, "Nephropathie")[0] == ("t1", pytest.approx(1, abs=1e-6))
    assert [doc_id for doc_id, _ in found(one, "Hämaturie")] == ["t2"], "definitions do not count"
    assert found(one, "cyst spleen")[0][0] == "t3", "a document without names has its definition"


@pytest.mark.parametrize("query", ["", "  ", "?!", "漢字", "xyzzy"])
def test_nothing_in_common_finds_nothing(query: str) -> None:
    (ranking,) = retriever(TEXTS).search([query], 10)
    assert len(ranking) == 0
    assert ranking.scores.dtype == np.float32
    assert found(retriever({"a": "", "b": "!"}), "a") == []


def test_the_index_is_reused_and_its_key_covers_documents_and_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = retriever(TEXTS)
    place = first.recipe.folder
    built = (place / "index.json").stat().st_mtime_ns
    assert found(retriever(TEXTS), "microcephaly") == found(first, "microcephaly")
    assert (place / "index.json").stat().st_mtime_ns == built
    others = [
        retriever({**TEXTS, "d4": "cyst"}),
        retriever(terms()),
        retriever(terms(TERMS[:-1])),
    ]
    monkeypatch.setattr("trectools_plus.retrieval.index.ngram._RULES", [])
    others.append(retriever(TEXTS))
    assert len({first.index_key, *(one.index_key for one in others)}) == len(others) + 1


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("sizes", np.array([1, 1])),
        ("idf", np.array([np.nan])),
        ("indices", np.array([10_000])),
        ("data", np.array([1, 2, 3])),
    ],
)
def test_a_damaged_index_is_built_again(
    name: str, values: Any, caplog: pytest.LogCaptureFixture
) -> None:
    first = retriever(TEXTS)
    expected = found(first, "microcephaly")
    np.save(first.recipe.folder / f"{name}.npy", values)
    assert found(retriever(TEXTS), "microcephaly") == expected
    assert f"{first.recipe.folder} is damaged" in caplog.text
