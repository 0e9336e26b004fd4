"""Validate and fix every file of a folder of invalid files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from harness.program import Done

COMMANDS = {
    "run": "runs validate",
    "qrels": "trectools-plus qrels validate",
    "topics": "trectools-plus topics validate",
    "testset": "trectools-plus topics validate",
}
OTHER_SIDE = {"run": "--qrels", "qrels": "--run"}

Run = Callable[[str, Path], Done]


def describe_malformed(run: Run, source: Path, folder: Path) -> dict[str, Any]:
    """Return, for each file, code, severity, line and count of each finding, and the fixed copy.

    Args:
        run: Runs a command line in a folder.
        source: A folder of files, with a `manifest.json` that names the kind of each file.
        folder: An empty folder, in which the commands run.
    """
    (folder / "files").symlink_to(source)
    listed = json.loads((source / "manifest.json").read_text("utf-8"))
    document: dict[str, Any] = {}
    for (kind, other), group in groupby(sorted(listed, key=_side), key=_side):
        option = f" {OTHER_SIDE[kind]} files/{other}" if other else ""
        names = [entry["file"] for entry in group]
        files = " ".join(f"files/{name}" for name in names)
        done = run(f"{COMMANDS[kind]} {files}{option} --format json", folder)
        reports = {Path(file["path"]).name: file for file in json.loads(done.stdout)["files"]}
        for name in names:
            document[name] = {
                "rows": reports[name]["rows"],
                "queries": reports[name]["queries"],
                "findings": [in_short(finding) for finding in reports[name]["findings"]],
                "fixed": _fixed(run, f"{COMMANDS[kind]} files/{name}", folder, reports[name]),
            }
        if kind == "testset":
            for name in names:
                alone = f"trectools-plus testset validate files/{name} --format json"
                (file,) = json.loads(run(alone, folder).stdout)["files"]
                document[name]["as test set"] = [in_short(finding) for finding in file["findings"]]
    return document


def in_short(finding: dict[str, Any]) -> str:
    """Return the compared parts of a finding: code, severity, line and count."""
    line, count = finding["line"], finding["count"]
    return f"{finding['code']} {finding['severity']}, line {line}, count {count}"


def _side(entry: dict[str, Any]) -> tuple[str, str]:
    return entry["kind"], entry.get("with") or ""


def _fixed(run: Run, command: str, folder: Path, report: dict[str, Any]) -> Any:
    """Return the copies that --fix writes: with safe fixes only, and with all fixes named."""
    findings = report["findings"]
    fixable = {one["fix"] for one in findings} & {"safe", "ask"}
    if not fixable and "00_good" not in command:
        return None
    asked = sorted({one["code"] for one in findings if one["fix"] == "ask"})
    found = {}
    for name, codes in {"safe": [], "asked": asked}.items():
        if name == "asked" and not codes:
            continue
        output = folder / f"{name}.fixed"
        fixes = "".join(f" --fix {code}" for code in codes)
        done = run(f"{command} --fix {output.name}{fixes} --format json", folder)
        digest = hashlib.sha256(output.read_bytes()).hexdigest() if output.exists() else None
        found[name] = f"exit {done.code}, {digest}"
        output.unlink(missing_ok=True)
    return found
