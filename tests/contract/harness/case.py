"""What a case is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
