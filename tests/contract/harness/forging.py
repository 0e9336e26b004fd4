"""Changes of reports as a forger makes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trectools_plus.formats.hashing import sha256_file

JSON = "BenchmarkReport.json"


def reseal(folder: Path) -> None:
    """Compute all hashes again, as a forger does: those of the runs, then those of all files."""
    report = folder / JSON
    document = json.loads(report.read_text())
    for mode in document["modes"].values():
        if mode["run"]["path"] and (folder / mode["run"]["path"]).is_file():
            mode["run"]["sha256"] = sha256_file(folder / mode["run"]["path"])
    report.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    reseal_files(folder)


def reseal_files(folder: Path) -> None:
    """Compute the hashes of all files again."""
    files = sorted(one for one in folder.rglob("*") if one.is_file() and one.name != "SHA256SUMS")
    (folder / "SHA256SUMS").write_text(
        "".join(f"{sha256_file(one)}  {one.relative_to(folder).as_posix()}\n" for one in files)
    )


def edit_json(change: Callable[[dict[str, Any]], Any], name: str = JSON) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        document = json.loads((folder / name).read_text())
        change(document)
        (folder / name).write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")

    return forge
