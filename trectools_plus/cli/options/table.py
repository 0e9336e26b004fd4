"""Options of commands that write a table for a paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from trectools_plus import reporting

PAPER = "Table for a paper (.tex, .md, .html)"


@dataclass(frozen=True)
class TableOptions:
    """The layout of a table, for :func:`~trectools_plus.cli.options.groups.with_groups`."""

    systems: Annotated[
        Literal["rows", "columns"] | None,
        typer.Option(
            help="Systems as rows or as columns of the table.  [default: columns; rows if there "
            "are more than five]",
            rich_help_panel=PAPER,
        ),
    ] = None
    decimals: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=12,
            metavar="N",
            help="Decimals of means and intervals.  [default: 4 for means, 3 for intervals]",
            rich_help_panel=PAPER,
        ),
    ] = None
    caption: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Caption of the table; with a backslash, it is LaTeX.  [default: the data]",
            rich_help_panel=PAPER,
        ),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the table for LaTeX's \\ref, for example tab:main.",
            rich_help_panel=PAPER,
        ),
    ] = None

    def layout(self) -> reporting.Layout:
        """Return the options as a layout."""
        return reporting.Layout(self.systems, self.decimals, self.caption, self.label)
