#!/usr/bin/env python3
"""Execute docs/example.ipynb and store its outputs, after a change of the notebook or of results.

The outputs contain neither times nor the paths of this machine.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parent.parent / "docs" / "example.ipynb"


def execute(path: Path = NOTEBOOK) -> nbformat.NotebookNode:
    """Return a notebook with the outputs of its cells, executed in its folder."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=120, resources=resources, record_timing=False).execute()
    for cell in notebook.cells:
        if "outputs" in cell:  # warnings of libraries name paths
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
        for output in cell.get("outputs", ()):
            if len(output.get("data", {})) > 1:  # the text of a result has times and paths
                output.data.pop("text/plain", None)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


if __name__ == "__main__":
    nbformat.write(execute(), NOTEBOOK)
    print(f"docs/{NOTEBOOK.name}: executed")
