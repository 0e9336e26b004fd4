"""Pages of a sentence, tables and a plot, as one file: sweeps, and estimates from judgments."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from trectools_plus.display import TextTable
from trectools_plus.reporting.html.page import make_environment, make_policy, read_asset
from trectools_plus.reporting.wording import CLAIMS_TITLE

_STYLES = ("base.css", "tables.css", "print.css", "document.css")


@dataclass(frozen=True, slots=True)
class DrawnInterval:
    """An interval to draw, in percent of the width.

    Attributes:
        kind: The class of its style.
        mean: The position of the mean.
        low: The position of the lower end.
        high: The position of the upper end.
    """

    kind: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PageSection:
    """A heading with a table.

    Attributes:
        heading: The heading.
        table: The table.
        intervals: The intervals beside each row; empty to draw none.
        zero: The position of 0 in each row, where it is within the intervals.
    """

    heading: str
    table: TextTable
    intervals: Sequence[Sequence[DrawnInterval]] = ()
    zero: Sequence[float | None] = ()


def render_document(
    title: str,
    sentences: Sequence[str],
    sections: Sequence[PageSection],
    *,
    plot: bytes | None = None,
    alt: str = "",
    claims: Sequence[str] = (),
) -> str:
    """Return the page, which loads nothing else.

    Args:
        title: The title.
        sentences: The result, and the lines after it.
        sections: The tables.
        plot: A plot as SVG.
        alt: The plot in words.
        claims: What nobody can derive from the files beside the page, a line each.
    """
    styles = "".join(read_asset(name) for name in _STYLES)
    return (
        make_environment()
        .get_template("document.html.j2")
        .render(
            title=title,
            sentence=sentences[0],
            lines=sentences[1:],
            sections=sections,
            plot=None if plot is None else b64encode(plot).decode(),
            alt=alt,
            claims=claims,
            claims_title=CLAIMS_TITLE,
            styles=styles,
            policy=make_policy(styles, ""),
        )
    )
