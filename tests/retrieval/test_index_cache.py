from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from trectools_plus.errors import InputError
from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.base import no_progress
from trectools_plus.retrieval.index_cache import IndexRecipe, cache_folder, open_index
from trectools_plus.retrieval.modes import build_retrievers
from trectools_plus.retrieval.settings import RetrievalSettings

RECIPE = IndexRecipe("toy", {"corpus": "abc", "words": ("a", "b")})
CORPUS = Corpus.from_dict({"d1": "swept wing", "d2": "heat transfer"})


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


def test_second_opening_builds_nothing() -> None:
    builder = Builder()
    assert [builder.open(), builder.open()] == ["content", "content"]
    assert builder.calls == 1


def test_other_facts_are_another_index() -> None:
    builder = Builder()
    builder.open()
    builder.open(IndexRecipe("toy", {"corpus": "abd", "words": ("a", "b")}))
    assert builder.calls == 2


@pytest.mark.parametrize("damage", ["cut", "flip", "remove", "seal", "other facts", "file"])
def test_a_damaged_index_is_built_anew(damage: str) -> None:
    builder = Builder()
    builder.open()
    folder = cache_folder() / RECIPE.folder_name
    data, seal = folder / "data.txt", folder / "index.json"
    if damage == "cut":
        data.write_text("cont")
    elif damage == "flip":
        data.write_text("CONTENT")
    elif damage == "remove":
        data.unlink()
    elif damage == "seal":
        seal.write_text(seal.read_text()[:-5])
    elif damage == "other facts":
        seal.write_text(seal.read_text().replace("abc", "abd"))
    else:
        seal.write_text("[]")
    assert builder.open() == "content"
    assert builder.calls == 2


def test_what_a_killed_build_left_is_never_read_and_is_cleared() -> None:
    root = cache_folder()
    abandoned = root / f".building-{RECIPE.folder_name}-xyz"
    unsealed = root / RECIPE.folder_name
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


def test_user_cache_folder_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRECTOOLS_PLUS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder().name == "indexes"
    if sys.platform == "linux":
        assert cache_folder().is_relative_to(tmp_path / "xdg")


def test_indexes_are_reused_and_memory_mapped() -> None:
    steps: list[str] = []

    def listen(description: str, done: int, total: int) -> None:
        steps.append(description)

    first = build_retrievers(CORPUS, ["lexical", "vector"], progress=listen)
    assert set(steps) == {"indexing words", "embedding documents"}
    steps.clear()
    second = build_retrievers(CORPUS, ["lexical", "vector"], progress=listen)
    assert steps == []
    for mode in ("lexical", "vector"):
        before, after = (r[mode].search(["wing"], 10)[0] for r in (first, second))
        assert (before.doc_ids, before.scores.tolist()) == (after.doc_ids, after.scores.tolist())
    vectors = second["vector"]._vectors  # type: ignore[attr-defined]
    assert isinstance(vectors.base, np.memmap)
    assert isinstance(second["lexical"]._index.scores["data"], np.memmap)  # type: ignore[attr-defined]


def test_index_settings_decide_the_key() -> None:
    def keys(corpus: Corpus, **values: object) -> list[str]:
        made = build_retrievers(
            corpus, ["lexical", "vector"], RetrievalSettings.model_validate(values)
        )
        return [retriever.index_key for retriever in made.values()]  # type: ignore[attr-defined]

    base = keys(CORPUS)
    lexical, vector = keys(CORPUS, k1=1.2)
    assert (lexical != base[0], vector) == (True, base[1])
    assert keys(CORPUS, batch_size=9, fusion="weighted") == base
    other = keys(Corpus.from_dict({"d1": "swept wing", "d2": "heat transfers"}))
    assert not set(other) & set(base)


def test_two_processes_build_once(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from trectools_plus.retrieval.base import no_progress
        from trectools_plus.retrieval.index_cache import IndexRecipe, open_index

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
        from trectools_plus.retrieval.base import no_progress
        from trectools_plus.retrieval.index_cache import IndexRecipe, open_index

        def build(folder):
            (folder / "data.txt").write_text("half")
            print("building", flush=True)
            time.sleep(60)

        facts = {"corpus": "abc", "words": ("a", "b")}
        open_index(IndexRecipe("toy", facts), build, print, no_progress)
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"building\n"
        process.kill()
    assert list(cache_folder().glob(".building-*"))
    assert Builder().open() == "content"
    assert not list(cache_folder().glob(".building-*"))
