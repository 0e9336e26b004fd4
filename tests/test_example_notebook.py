"""The example notebook runs, and its stored outputs are those of this version."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient", reason="not installed: pip install '.[dev-test]'")
nbformat = pytest.importorskip("nbformat", reason="not installed: pip install '.[dev-test]'")
pytest.importorskip("ipykernel", reason="not installed: pip install '.[dev-test]'")

pytestmark = [pytest.mark.installation, pytest.mark.slow("runs a notebook")]

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "example.ipynb"


def outputs(notebook: Any) -> list[dict[str, Any]]:
    """The outputs of the code cells; of images, only that there is one."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {"text": output.get("text")})
            found.append({kind: data[kind] if "image" not in kind else "" for kind in data})
    return found


@pytest.fixture(scope="module", autouse=True)
def _no_settings_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use an empty folder for the settings of IPython and Jupyter, whose home can be read-only."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        yield


@pytest.fixture(scope="module")
def executed() -> Any:
    spec = importlib.util.spec_from_file_location("notebook", ROOT / "scripts" / "notebook.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script.execute(NOTEBOOK)


@pytest.mark.process
def test_the_stored_outputs_are_those_of_this_version(executed: Any) -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    assert outputs(stored) == outputs(executed), "run scripts/notebook.py"
    assert [cell.source for cell in stored.cells] == [cell.source for cell in executed.cells]
