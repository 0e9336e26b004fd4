from __future__ import annotations

import functools
import json
import os
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trectools_plus.display import no_progress
from trectools_plus.errors import InputError
from trectools_plus.formats.files.index_cache import IndexRecipe, cache_folder, open_index
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.backends import embedded as backend
from trectools_plus.retrieval.backends.embedded import build_retrievers
from trectools_plus.retrieval.index.encoder import TextEncoder
from trectools_plus.retrieval.settings import RetrievalSettings

RECIPE = IndexRecipe("toy", {"corpus": "abc", "words": ("a", "b")})
CORPUS = Corpus.from_dict({"d1": "swept wing", "d2": "heat transfer"})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build the indexes of each test in its folder."""
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(tmp_path / "cache"))


@functools.cache
def encoder() -> TextEncoder:
    """Return the same encoder for every index, because loading its model is slow."""
    return TextEncoder()


@pytest.fixture(autouse=True)
def one_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "make_encoder", lambda *_: encoder())


class Builder:
    def __init__(self, text: str = "content") -> None:
        self.text = text
        self.calls = 0

    def __call__(self, folder: Path) -> None:
        self.calls += 1
        (folder / "data.txt").write_text(self.text)

    def open(self, recipe: IndexRecipe = RECIPE) -> str:
        return open_index(
            recipe, self, lambda folder: (folder / "data.txt").read_text(), no_progress
        )


DAMAGES: dict[str, Callable[[Path, Path], object]] = {
    "cut": lambda data, seal: data.write_text("cont"),
    "flip": lambda data, seal: data.write_text("CONTENT"),
    "remove": lambda data, seal: data.unlink(),
    "seal": lambda data, seal: seal.write_text(seal.read_text()[:-5]),
    "no checksums": lambda data, seal: (
        data.write_text("CONTENT"),
        seal.write_text(json.dumps({**json.loads(seal.read_text()), "files": {}})),
    ),
    "other facts": lambda data, seal: seal.write_text(seal.read_text().replace("abc", "abd")),
    "file": lambda data, seal: seal.write_text("[]"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_built_anew(damage: str) -> None:
    builder = Builder()
    assert [builder.open(), builder.open(), builder.calls] == ["content", "content", 1]
    folder = RECIPE.folder
    DAMAGES[damage](folder / "data.txt", folder / "index.json")
    assert [builder.open(), builder.calls] == ["content", 2]


KINDS = {"lexical": "lexical", "vector": "vector", "multi-vector": "all_max"}


def forge(folder: Path) -> None:
    """Seal an index again, whatever its files hold."""
    seal = json.loads((folder / "index.json").read_text())
    names = [path.name for path in folder.iterdir() if path.name != "index.json"]
    seal["files"] = {name: sha256_file(folder / name) for name in names}
    (folder / "index.json").write_text(json.dumps(seal))


class Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def pickled(path: Path) -> None:
    content = np.empty(1, dtype=object)
    content[0] = Payload(path.parent.parent / "unpickled")
    np.save(path, content, allow_pickle=True)


def archive(path: Path) -> None:
    np.savez(path.with_suffix(".npz"), np.load(path))
    path.with_suffix(".npz").rename(path)


ARRAY_CHANGES: dict[str, Callable[[Path], None]] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("no array"),
    "huge": lambda path: path.write_bytes(
        path.read_bytes().replace(b"'shape': (", b"'shape': (9999999999999,", 1)
    ),
    "missing": lambda path: path.unlink(),
    "objects": pickled,
    "bare pickle": lambda path: path.write_bytes(
        pickle.dumps(Payload(path.parent.parent / "unpickled"))
    ),
    "archive": archive,
}
JSON_CHANGES: dict[str, Callable[[Path], None]] = {
    "cut": lambda path: path.write_text(path.read_text()[:-2]),
    "empty": lambda path: path.write_text(""),
    "no UTF-8": lambda path: path.write_bytes(b'{"\xff": 1}'),
}
FORGERIES = [
    *(
        (kind, "vectors.npy", change)
        for kind in ("vector", "multi-vector")
        for change in ARRAY_CHANGES
    ),
    *(
        ("lexical", f"{name}.csc.index.npy", change)
        for name in ("data", "indices", "indptr")
        for change in ARRAY_CHANGES
    ),
    *(("lexical", "vocab.index.json", change) for change in JSON_CHANGES),
]


@pytest.mark.parametrize(("kind", "file", "change"), FORGERIES)
def test_an_inconsistent_index_with_a_fresh_seal_is_built_again(
    kind: str, file: str, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    def search() -> list[tuple[list[str], list[float]]]:
        retriever = build_retrievers(CORPUS, [KINDS[kind]])[KINDS[kind]]
        found = retriever.search(["swept wing", "heat"], 5)
        return [(ranking.doc_ids, ranking.scores.tolist()) for ranking in found]

    expected = search()
    (folder,) = (path for path in cache_folder().iterdir() if path.is_dir())
    changes = ARRAY_CHANGES if file.endswith(".npy") else JSON_CHANGES
    changes[change](folder / file)
    forge(folder)
    assert search() == expected
    assert not (cache_folder() / "unpickled").exists()
    (warning,) = caplog.messages
    assert str(folder) in warning
    assert warning.endswith("built again")
    assert "\n" not in warning
    assert search() == expected
    assert len(caplog.messages) == 1


def test_what_a_killed_build_left_is_never_read_and_is_cleared() -> None:
    abandoned = cache_folder() / f".building-{RECIPE.folder.name}-xyz"
    unsealed = RECIPE.folder
    for folder in (abandoned, unsealed):
        folder.mkdir(parents=True)
        (folder / "data.txt").write_text("half")
    assert Builder().open() == "content"
    assert not abandoned.exists()


def test_a_failing_build_leaves_nothing() -> None:
    def fail(folder: Path) -> None:
        (folder / "data.txt").write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        open_index(RECIPE, fail, lambda folder: None, no_progress)
    assert [path for path in cache_folder().iterdir() if path.is_dir()] == []


def test_unwritable_cache_is_an_error_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="TRECTOOLS_PLUS_CACHE"):
        Builder().open()


def test_index_settings_decide_the_key() -> None:
    def keys(corpus: Corpus, **values: object) -> list[str]:
        made = build_retrievers(
            corpus, ["lexical", "vector"], RetrievalSettings.model_validate(values)
        )
        return [retriever.index_key for retriever in made.values()]  # type: ignore[attr-defined]

    base = keys(CORPUS)
    lexical, vector = keys(CORPUS, k1=1.2)
    assert (lexical != base[0], vector) == (True, base[1])
    assert keys(CORPUS, candidates=9, fusion="weighted") == base
    other = keys(Corpus.from_dict({"d1": "swept wing", "d2": "heat transfers"}))
    assert not set(other) & set(base)


def test_two_processes_build_once(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from trectools_plus.display import no_progress
        from trectools_plus.formats.files.index_cache import IndexRecipe, open_index

        def build(folder):
            print("built", flush=True)
            (folder / "data.txt").write_text("half")
            time.sleep(1.5)
            (folder / "data.txt").write_text("whole")

        ready = Path(sys.argv[1])
        ready.touch()
        while len(list(ready.parent.glob("ready-*"))) < 2:
            time.sleep(0.01)
        load = lambda folder: (folder / "data.txt").read_text()
        print(open_index(IndexRecipe("toy", {}), build, load, lambda *step: print(step[0])))
    """)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / f"ready-{number}")],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TRECTOOLS_PLUS_CACHE": str(tmp_path / "shared")},
        )
        for number in range(2)
    ]
    outputs = sorted(process.communicate(timeout=50)[0].splitlines() for process in processes)
    assert outputs == [
        ["built", "whole"],
        ["waiting for another process to build the same index", "whole"],
    ]


def test_a_killed_builder_frees_the_lock(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import time
        from trectools_plus.display import no_progress
        from trectools_plus.formats.files.index_cache import IndexRecipe, open_index

        def build(folder):
            (folder / "data.txt").write_text("half")
            print("building", flush=True)
            time.sleep(60)

        facts = {"corpus": "abc", "words": ("a", "b")}
        open_index(IndexRecipe("toy", facts), build, print, no_progress)
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"building\n"
        process.kill()
    assert list(cache_folder().glob(".building-*"))
    assert Builder().open() == "content"
    assert not list(cache_folder().glob(".building-*"))
