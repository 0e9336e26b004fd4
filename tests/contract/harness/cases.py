"""The cases of `cases.yaml`: commands, each case in a separate folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml


@dataclass(frozen=True)
class Case:
    """Commands that run one after another in a folder with links `fixtures`, `inputs`, `shared`.

    Args:
        name: Name of the case and of its documents.
        commands: Command lines, in order.
        needs: Requirements: `shared` for the shared test data, or names of modules of extras.
        copies: Files and folders of `inputs` that the commands change, by their name in the
            folder; an archive is unpacked.
        writes: Small files by name.
        after: Cases whose folder is linked here under their name.
        private: Whether texts of the collection are left out of the document.
        fresh: Whether the case computes vectors; its figures are compared with a tolerance.
        slow: Why only the complete tests run it; empty if all do.
    """

    name: str
    commands: tuple[str, ...]
    needs: tuple[str, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)
    writes: Mapping[str, str] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    private: bool = False
    fresh: bool = False
    slow: str = ""


GROUPS = {
    group: [Case(**fields) for fields in listed]
    for group, listed in yaml.safe_load(
        Path(__file__).with_suffix(".yaml").read_text("utf-8")
    ).items()
}
"""Cases of benchmarks, of earlier reports, of files, and of the commands of the documentation.

The commands of the documentation stay as they were, so that what became of them can be seen.
"""
CASES = {case.name: case for cases in GROUPS.values() for case in cases}
