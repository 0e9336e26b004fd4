"""Install another commit of this repository beside the working tree, to compare the two."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


class NoSuchCommitError(Exception):
    """A name is not that of a commit."""


def install(ref: str) -> Path:
    """Install a commit into its own environment, and return that environment's interpreter.

    The environment is in `.cache/compare-with/`. A commit that declares the same dependencies uses
    the installed ones; otherwise they are installed, which needs a network.

    Args:
        ref: A branch, tag or hash.

    Raises:
        NoSuchCommitError: If there is no such commit.
    """
    found = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    if found.returncode:
        raise NoSuchCommitError(f"no such commit — {ref} — name a branch, tag or hash")
    commit = found.stdout.strip()
    folder = ROOT / ".cache/compare-with" / commit
    python = folder / "venv/bin/python"
    if (folder / "installed").exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "source"
    source.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    subprocess.run(["tar", "-x", "-C", source], input=archive.stdout, check=True)
    if _dependencies(source) == _dependencies(ROOT):
        _share_dependencies(folder / "venv", source)
    else:
        print(f"Installing the dependencies of {commit[:12]} …", file=sys.stderr)
        subprocess.run(
            ["bash", "-ec", ". scripts/venv.sh; prepare_venv hpo service plots"],
            cwd=source,
            env={**os.environ, "TRECTOOLS_PLUS_VENV": str(folder / "venv")},
            check=True,
        )
    (folder / "installed").touch()
    return python


def _dependencies(source: Path) -> tuple[Any, ...]:
    project = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["project"]
    constraints = source / "constraints.txt"
    return (
        project["dependencies"],
        project["optional-dependencies"],
        constraints.read_text("utf-8") if constraints.exists() else "",
    )


def _share_dependencies(folder: Path, source: Path) -> None:
    """Make an environment of a source tree and the dependencies that are installed here."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    installed = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "source.pth").write_text("\n".join([str(source), *installed]) + "\n", "utf-8")
    project = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["project"]
    about = packages / "trectools_plus-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.0.0\n", "utf-8"
    )
    points = [f"{name} = {target}" for name, target in project["scripts"].items()]
    (about / "entry_points.txt").write_text("\n".join(["[console_scripts]", *points]), "utf-8")
    for name, target in project["scripts"].items():
        module, _, function = target.partition(":")
        script = folder / "bin" / name
        script.write_text(
            f"#!{folder}/bin/python\nimport sys\nfrom {module} import {function}\n"
            f"sys.exit({function}())\n",
            "utf-8",
        )
        script.chmod(0o755)
