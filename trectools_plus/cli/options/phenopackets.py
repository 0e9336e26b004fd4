"""The option ``--phenopackets``, and its effect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import extraction
from trectools_plus import ontology as ontologies
from trectools_plus.cli.verbosity import note
from trectools_plus.text import plural

Phenopackets = Annotated[
    Path | None,
    typer.Option(
        "--phenopackets",
        metavar="DIR",
        help="Folder for the found terms as phenopackets (version 2), one file per document.",
    ),
]


def write_packets(
    findings: Mapping[str, Iterable[tuple[str, str]]], folder: Path, ontology: str | Path | None
) -> None:
    """Write phenopackets of terms and their assertions, by document."""
    files = extraction.write_phenopackets(findings, folder, ontologies.load_ontology(ontology))
    note(f"{plural(len(files), 'phenopacket')} written to {folder}")
