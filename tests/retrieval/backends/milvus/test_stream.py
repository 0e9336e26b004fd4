"""Documents are inserted as a stream, and a server of its own is reached by its address."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.usefixtures("milvus"),
    pytest.mark.process,
    pytest.mark.slow("starts servers"),
]

SCRIPT = Path(__file__).resolve().parents[4] / "scripts" / "milvus-stream"


def run_script(*options: str) -> subprocess.CompletedProcess[str]:
    if sys.platform == "win32":
        pytest.skip("Windows has no resource module")
    return subprocess.run(
        [sys.executable, str(SCRIPT), *options], capture_output=True, text=True, check=False
    )


def test_inserting_20_000_documents_takes_no_more_memory_than_4_000() -> None:
    done = run_script("--documents", "20000", "--growth-mib", "16")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20,000 inserted" in done.stdout


def test_the_measurement_can_fail() -> None:
    done = run_script("--documents", "100", "--bound-mib", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "bound 1 MiB" in done.stdout
