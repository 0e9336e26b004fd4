"""Files in object stores: emulators of S3 and Google Cloud Storage."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
import zstandard

pytestmark = [pytest.mark.process, pytest.mark.slow("starts servers")]

PACKAGES = ("s3fs", "moto", "flask", "flask_cors", "gcsfs", "gcp_storage_emulator")
QRELS = b"".join(b"q%d 0 d%d %d\n" % (q, d, d % 3) for q in range(9) for d in range(9))
RUN = b"".join(b"q%d Q0 d%d %d %d t\n" % (q, q + d, d, 9 - d) for q in range(9) for d in (1, 2))
KEY = "AKIAEXAMPLE"
SECRET = "S3CRETsecret"
START_SECONDS = 60


@dataclass
class Store:
    """A server with a bucket ``trec``.

    Attributes:
        base: The bucket's address.
        upload: The URL that takes a file's content, without its name.
        method: ``PUT`` or ``POST``.
        environment: What a client's environment says of the server.
    """

    base: str
    upload: str
    method: str
    environment: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, content: bytes) -> None:
        headers = {"x-amz-acl": "public-read"}
        url = self.upload + name
        httpx.request(self.method, url, content=content, headers=headers).raise_for_status()

    def run(self, *words: str, **environment: str | None) -> SimpleNamespace:
        """Run the command in a new process; a variable that is ``None`` is not set."""
        return self.python("from trectools_plus.cli.app import main; main()", *words, **environment)

    def python(self, code: str, *words: str, **environment: str | None) -> SimpleNamespace:
        settings = {**os.environ, **self.environment, **environment}
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            env={name: value for name, value in settings.items() if value is not None},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr
        assert SECRET not in done.stdout + done.stderr
        return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr)


@pytest.fixture(scope="module")
def _packages() -> None:
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        reason = f"{', '.join(missing)} not installed: pip install '.[dev-stores]'"
        if os.environ.get("REQUIRE_STORES") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="module")
def s3(_packages: None) -> Iterator[Store]:
    yield from _served(["-m", "moto.server", "--host", "127.0.0.1", "--port"], _s3_at)


def _s3_at(url: str) -> Store:
    httpx.put(f"{url}/trec").raise_for_status()
    environment = {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
    return Store("s3://trec", f"{url}/trec/", "PUT", environment)


@pytest.fixture(scope="module")
def gs(_packages: None) -> Iterator[Store]:
    command = "import sys; from gcp_storage_emulator.__main__ import main; main(sys.argv[1:])"
    options = ["start", "--in-memory", "--default-bucket", "trec", "--host", "127.0.0.1", "--port"]
    yield from _served(["-c", command, *options], _gs_at)


def _gs_at(url: str) -> Store:
    # Which kind of bucket it is would be asked over an encrypted line, which the emulator lacks.
    environment = {"STORAGE_EMULATOR_HOST": url, "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"}
    upload = f"{url}/upload/storage/v1/b/trec/o?uploadType=media&name="
    return Store("gs://trec", upload, "POST", environment)


def _served(words: list[str], store_at) -> Iterator[Store]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, *words, str(port)],
        env={**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": "inf"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, process)
        store = store_at(f"http://127.0.0.1:{port}")
        files = {"qrels.txt": QRELS, "a.run": RUN, "b.run.gz": gzip.compress(RUN)}
        for name, content in (files | {"c.run.zst": zstandard.compress(RUN)}).items():
            store.put(name, content)
        yield store
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"the store's server does not start: {process.args}")
            time.sleep(0.1)
        else:
            return


@pytest.fixture(params=["s3", "gs"])
def store(request: pytest.FixtureRequest) -> Store:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Store)
    return found


def test_scores_are_those_of_files(store: Store, tmp_path: Path) -> None:
    for name, content in {"qrels.txt": QRELS, "a.run": RUN}.items():
        (tmp_path / name).write_bytes(content)
    options = ["--format", "json", "--per-query"]
    here = store.run("eval", str(tmp_path / "qrels.txt"), str(tmp_path / "a.run"), *options)
    expected = json.loads(here.out)["runs"]
    for name in ("a.run", "b.run.gz", "c.run.zst"):
        there = store.run("eval", f"{store.base}/qrels.txt", f"{store.base}/{name}", *options)
        assert there.code == 0, there.err
        found = json.loads(there.out)["runs"]
        assert [run["measures"] for run in found] == [run["measures"] for run in expected]
        assert f"{store.base}/{name}" in there.out


def test_a_benchmark_keeps_no_secret(store: Store, tmp_path: Path) -> None:
    runs = [f"one={store.base}/a.run", f"two={store.base}/c.run.zst"]
    words = ["--qrels", f"{store.base}/qrels.txt", "--output-dir", str(tmp_path / "out")]
    words += [word for run in runs for word in ("--runs", run)]
    done = store.run("benchmark", "run", *words, "--set", "resamples=100")
    assert done.code == 0, done.err
    written = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert any(f"{store.base}/c.run.zst".encode() in content for content in written)
    assert not any(SECRET.encode() in content or KEY.encode() in content for content in written)


def test_missing_and_refused_keys(s3: Store) -> None:
    path = f"{s3.base}/a.run"
    without = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"))
    done = s3.run("runs", "validate", path, **without, HOME="/nowhere")
    assert done.code == 2
    assert f"Unable to locate credentials — {path} — check the address" in done.err
    done = s3.run("runs", "validate", path, **without, HOME="/nowhere", FSSPEC_S3_ANON="true")
    assert done.code == 0, done.err
