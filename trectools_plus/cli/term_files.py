"""An option that several commands have: where information content of terms is from."""

from __future__ import annotations

from typing import Annotated

import typer

AnnotationsFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Where the formulas resnik, lin and jiang_conrath of MaxOntSim have information "
        "content from, in the format of phenotype.hpoa [default: from the ontology's graph].",
    ),
]
