"""Files that other programs read: workflows, the action, issue forms, citation data."""

import json
import os
import subprocess
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
import yaml
from harness.files import write

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = {
    ".github/workflows/*.yml": "github-workflows",
    "docs/examples/gate.yml": "github-workflows",
    "action.yml": "github-actions",
    ".github/dependabot.yml": "dependabot",
    ".github/ISSUE_TEMPLATE/config.yml": "github-issue-config",
    ".github/ISSUE_TEMPLATE/[!c]*.yml": "github-issue-forms",
    "CITATION.cff": "citation-file-format",
}
CHECKED = {path: schema for pattern, schema in SCHEMAS.items() for path in ROOT.glob(pattern)}


def load(path):
    # BaseLoader: GitHub reads "on" as text, not as the truth value of YAML 1.1.
    return yaml.load(path.read_text("utf-8"), yaml.BaseLoader)


@pytest.mark.parametrize("path", sorted(CHECKED), ids=lambda path: path.name)
def test_satisfies_its_schema(path):
    folder = files(pytest.importorskip("check_jsonschema")) / "builtin_schemas" / "vendor"
    schema = json.loads((folder / f"{CHECKED[path]}.json").read_text("utf-8"))
    document = yaml.safe_load(path.read_text("utf-8"))
    if True in document:
        document["on"] = document.pop(True)
    jsonschema.validators.validator_for(schema)(schema).validate(document)


def test_the_action_installs_its_own_files_unless_told_otherwise(tmp_path):
    action = load(ROOT / "action.yml")
    step = action["runs"]["steps"][0]
    python = write(tmp_path / "python", '#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)

    def install(package):
        env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PACKAGE": package}
        env["GITHUB_ACTION_PATH"] = "/actions/here"
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", step["run"]],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    words = install(action["inputs"]["package"]["default"])
    assert words[-3:] == ["--constraint", "/actions/here/constraints.txt", "/actions/here"]
    words = install("wheels/some.whl")
    assert (words[-1], "--constraint" in words) == ("wheels/some.whl", False)
    assert step["if"] == "inputs.package != ''"
