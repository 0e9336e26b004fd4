"""A real Milvus, of the package ``milvus``, with accounts: started, killed and started again.

Some of its ports cannot be chosen, so there can be one such server on a machine.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest

TOKEN = "root:Milvus"
"""What the server knows from the beginning."""

_SECONDS_TO_START = 120
_SECONDS_TO_END = 30
_FIXED_PORTS = (2380, 9091)


def require_server() -> None:
    """Skip where it is not installed or its ports are taken; fail with ``REQUIRE_MILVUS=1``."""
    taken = [str(port) for port in _FIXED_PORTS if _is_taken(port)]
    if find_spec("milvus") is None:
        reason = "milvus not installed: pip install '.[dev-milvus]'"
    elif taken:
        reason = f"port {' and '.join(taken)} of this machine is taken; Milvus needs it"
    else:
        return
    if os.environ.get("REQUIRE_MILVUS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _is_taken(port: int) -> bool:
    try:
        socket.create_server(("", port)).close()
    except OSError:
        return True
    return False


@dataclass
class MilvusServer:
    """A server in a process group of its own, whose data outlive it.

    Attributes:
        folder: Its data.
        port: Where it listens on this machine.
    """

    folder: Path
    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def uri(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        if not self.port:
            with socket.create_server(("127.0.0.1", 0)) as free:
                self.port = free.getsockname()[1]
        command, environment = self._command()
        self._process = subprocess.Popen(
            command,
            cwd=self.folder,
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + _SECONDS_TO_START
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                self.kill()
                pytest.fail(f"Milvus did not start; its logs are in {self.folder}")
            time.sleep(0.5)

    def kill(self) -> None:
        """End it with SIGKILL, without a warning, and wait until its ports are free."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        deadline = time.monotonic() + _SECONDS_TO_END
        while any(map(_is_taken, _FIXED_PORTS)) and time.monotonic() < deadline:
            time.sleep(0.1)

    def _command(self) -> tuple[list[str], dict[str, str]]:
        """At first the package's, which unpacks the server; then the server as that starts it.

        The package's own would not take a port that had a connection a minute ago.
        """
        binary = self.folder / "bin" / "milvus"
        if not binary.exists():
            command = [str(Path(sys.executable).with_name("milvus-server"))]
            command += ["--data", str(self.folder), "--proxy-port", str(self.port)]
            return [*command, "--authorization-enabled", "true"], {}
        return [str(binary), "run", "standalone"], {
            "DEPLOY_MODE": "STANDALONE",
            "METRICS_PORT": str(_FIXED_PORTS[1]),
            "MILVUS_RUN_DIR": str(self.folder / "run"),
            "LD_LIBRARY_PATH": str(binary.parent),
        }

    def _answers(self) -> bool:
        from pymilvus import MilvusClient
        from pymilvus.exceptions import MilvusException

        try:
            client = MilvusClient(self.uri, token=TOKEN, timeout=5)
            client.list_collections(timeout=5)
        except MilvusException:
            return False
        client.close()
        return True
