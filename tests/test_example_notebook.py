"""The example notebook runs, and its stored outputs are those of this version."""

from __future__ import annotations

import importlib.util
import sys
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
SLOW = """
import time
from trectools_plus import evaluate, fetch
{before}
def slow(text, k):
    time.sleep({seconds})
    return ["d1"]
{call}
"""


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


def run_cells(*sources: str) -> list[list[Any]]:
    """Execute cells in the kernel of this Python; return the outputs of each."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in sources])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return [cell.outputs for cell in notebook.cells]


@pytest.mark.process
def test_long_work_has_a_bar_that_disappears_and_short_work_has_none() -> None:
    corpus = "{f'd{n}': f'red roses {n}' for n in range(3)}"
    collection = (
        "from trectools_plus import Collection, Corpus, Topics, Qrels\n"
        f"corpus = Corpus.from_dict({corpus})\n"
        "topics = Topics.from_dict({f'q{n}': 'roses' for n in range(15)})\n"
        "qrels = Qrels.from_dict({f'q{n}': {'d1': 1} for n in range(15)})\n"
        "tests = Collection('garden', corpus, topics, qrels)\n"
        "import IPython.display, trectools_plus.progress as progress\n"
        "shown = []\n"
        "original = progress._display\n"
        "def spy(content, handle):\n"
        "    shown.append(content)\n"
        "    return original(content, handle)\n"
        "progress._display = spy\n"
    )
    call = "evaluation = evaluate(slow, tests, ['RR'])"
    long, seen, short, fetched, unseen = run_cells(
        SLOW.format(before=collection, seconds=0.2, call=call),
        "print(len(shown) > 2, '<progress' in shown[0]['text/html'])\n"
        "print(all(one['text/plain'].startswith('searching slow: ') for one in shown[:-1]))\n"
        "print(shown[-1])\nshown.clear()",
        SLOW.format(before="", seconds=0, call=call),
        "runs = fetch(corpus, topics, 'lexical', depth=2)",
        "print(shown)",
    )
    assert [one["output_type"] for one in long] == ["display_data"]
    assert long[0]["data"] == {"text/html": "", "text/plain": ""}
    assert seen[0]["text"].splitlines() == [
        "True True",
        "True",
        "{'text/html': '', 'text/plain': ''}",
    ]
    assert not short
    assert not fetched
    assert unseen[0]["text"] == "[]\n"


def test_nothing_is_shown_outside_notebooks(capsys: pytest.CaptureFixture[str]) -> None:
    from trectools_plus.progress import no_progress, notebook_progress

    with notebook_progress() as progress:
        assert progress is no_progress
    calls: list[tuple[str, int, int]] = []
    with notebook_progress(lambda *step: calls.append(step)) as progress:
        progress("scoring", 1, 2)
    assert calls == [("scoring", 1, 2)]
    assert "IPython.display" not in sys.modules or capsys.readouterr() == ("", "")
