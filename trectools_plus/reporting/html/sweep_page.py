"""``SweepReport.html``: the result, the variants and the plot of a sweep, as one file."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from trectools_plus.benchmark.sweep.report import SweepReport
from trectools_plus.display import TextTable
from trectools_plus.reporting.html.page import make_environment, make_policy, read_asset

_STYLES = ("base.css", "tables.css", "print.css")
_ONLY_THE_BEST_IS_BOLD = 'tbody th[scope="row"] { font-weight: 400; }'


def render_sweep_html(
    report: SweepReport, sentences: Sequence[str], table: TextTable, plot: bytes | None = None
) -> str:
    """Return the page, which loads nothing else.

    Args:
        report: The sweep.
        sentences: The result, and the lines after it.
        table: The variants.
        plot: The plot as SVG.
    """
    styles = "".join(read_asset(name) for name in _STYLES) + _ONLY_THE_BEST_IS_BOLD
    return (
        make_environment()
        .get_template("sweep.html.j2")
        .render(
            title=f"Sweep on {report.dataset.id}",
            sentence=sentences[0],
            lines=sentences[1:],
            table=table,
            plot=None if plot is None else b64encode(plot).decode(),
            alt=f"{report.measure} by the values of each setting",
            command=report.command,
            styles=styles,
            policy=make_policy(styles, ""),
        )
    )
