"""``runs info``."""

from __future__ import annotations

from typing import Annotated

import typer

from trectools_plus import validation
from trectools_plus.cli.options.common import TextOrJson
from trectools_plus.cli.printing import write_document


def runs_info(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run file; - is standard input.")],
    output_format: TextOrJson = "text",
) -> None:
    """The summary contains the numbers of queries and rows, the depth, the tag, the range of
    scores, the number of ties in 64 and in 32 bits, and the order of ranks and rows. A run with
    errors is refused; `runs validate` lists them.

    \b
    Examples:
      runs info lexical.run
      runs info lexical.run --format json
    """
    write_document(validation.describe_file(run), output_format)
