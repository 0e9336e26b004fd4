"""The comparison of an experiment with its reproduction: text, Markdown, JSON and a heatmap."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from trectools_plus.benchmark.compare.reproduction import (
    TRUNCATED_P,
    ModeReproduction,
    Reproduction,
    ScoreReproduction,
    state_reproduction,
)
from trectools_plus.display import Cell, TableColumn, TableRow, TextTable, make_row
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.reporting.markdown import collapsed, escape, render_table
from trectools_plus.reporting.plots.figures import FORMATS, draw_similarity, render_plot
from trectools_plus.reporting.terminal import print_table
from trectools_plus.reporting.wording import show, show_mean, show_p
from trectools_plus.text import make_console, plural

_MOST_ROWS = 22
"""With sentence, names and legend, this gives at most 40 lines."""


def print_reproduction(found: Reproduction, stream: TextIO, *, everything: bool = False) -> None:
    """Print the result in one sentence, a table and its legend, in at most 40 lines.

    Args:
        found: From :func:`compare_reproduction`.
        stream: The output.
        everything: Print all modes and measures, however many lines this takes. Otherwise, a table
            that is too long has only the primary measure, and at most 22 modes.
    """
    console = make_console(stream)
    console.print(state_reproduction(found), style="bold")
    console.print()
    for place, name in enumerate(found.names):
        queries = plural(found.queries[place], "query", "queries")
        console.print(f"{'AB'[place]}  {name} ({queries})")
    table, omitted = _table(found, None if everything else _MOST_ROWS)
    print_table(console, table)
    for line in [*_legend(found), *found.notes, *omitted]:
        console.print(line, style="dim")


def render_reproduction_markdown(found: Reproduction) -> str:
    """Return the comparison as GitHub-flavoured Markdown.

    Args:
        found: From :func:`compare_reproduction`.
    """
    table, _ = _table(found, None)
    parts = [
        "# Reproduction",
        f"**{escape(state_reproduction(found))}**",
        escape(
            "  \n".join(
                f"{letter}: {name} ({plural(queries, 'query', 'queries')})"
                for letter, name, queries in zip("AB", found.names, found.queries, strict=True)
            )
        ),
        render_table(table),
        escape("  \n".join([*_legend(found), *found.notes])),
    ]
    if found.similarity is not None:
        names = found.similarity.modes
        rows = [
            [escape(name), *(show(value) for value in row)]
            for name, row in zip(names, found.similarity.rbo, strict=True)
        ]
        matrix = render_table(TextTable.of(["Run", *map(escape, names)], rows))
        parts.append(collapsed("Similarity of each two runs (RBO)", matrix))
    return "\n\n".join(parts) + "\n"


def reproduction_document(found: Reproduction) -> dict[str, Any]:
    """Return the comparison as JSON values.

    Args:
        found: From :func:`compare_reproduction`.
    """
    return {
        "a": found.names[0],
        "b": found.names[1],
        "kind": "replication" if found.replication else "reproduction",
        "queries_a": found.queries[0],
        "queries_b": found.queries[1],
        "verdict": state_reproduction(found),
        "baseline": found.baseline,
        "test": found.test,
        "modes": [
            {
                "label": mode.label,
                "mode_a": mode.modes[0],
                "mode_b": mode.modes[1],
                "rankings": None if mode.rankings is None else asdict(mode.rankings),
                "measures": {
                    one.measure: {
                        "mean_a": one.mean_a,
                        "mean_b": one.mean_b,
                        "n_a": one.n_a,
                        "n_b": one.n_b,
                        "rmse": one.rmse,
                        "p": one.p_value,
                        "effect_ratio": one.effect_ratio,
                        "delta_relative_improvement": one.delta_relative_improvement,
                    }
                    for one in mode.scores
                },
            }
            for mode in found.modes
        ],
        "similarity": None if found.similarity is None else found.similarity.model_dump(),
        "notes": found.notes,
    }


def write_similarity(found: Reproduction, path: Path) -> None:
    """Draw the similarity of each two runs as a heatmap, whole or not at all.

    Args:
        found: From :func:`compare_reproduction`; not a replication.
        path: The file, with the suffix ``.png`` or ``.svg``.

    Raises:
        UsageError: If the suffix is another one, or the runs have other queries.
        InputError: If the file cannot be written.
    """
    kind = next((one for one in FORMATS if path.suffix.lower() == f".{one}"), None)
    if kind is None:
        raise UsageError(
            f"expected a file ending in .png or .svg but got '{path.name}'", where="--plot"
        )
    if found.similarity is None:
        raise UsageError(
            "runs of different queries have no similarity",
            where="--plot",
            remedy="leave it out with --replication",
        )
    subtitle = plural(found.queries[0], "query", "queries")
    plot = draw_similarity(found.similarity, found.similarity.modes, subtitle)
    with atomic_write(path, "wb") as stream:
        stream.write(render_plot(plot, kind))


def _table(found: Reproduction, most: int | None) -> tuple[TextTable, list[str]]:
    """Return the table, and a line on what it omits."""
    modes, measures = found.modes, len(found.modes[0].scores)
    omitted = []
    blank = len(modes) if measures > 1 else 0
    if most is not None and len(modes) * measures + blank > most:
        omitted = [plural(measures - 1, "further measure")] if measures > 1 else []
        measures = 1
        if len(modes) > most:
            omitted.append(plural(len(modes) - most, f"further {found.noun}"))
            modes = modes[:most]
    header = [found.noun.capitalize(), "RBO", "tau", "Metric", "A", "B", "RMSE", "p", "ER", "ΔRI"]
    columns = [
        TableColumn(Cell(name), right=name not in (header[0], "Metric"), widest=28)
        for name in header
    ]
    if found.replication:
        columns = [one for one in columns if one.name not in ("RBO", "tau", "RMSE")]
    rows: list[TableRow] = []
    for mode in modes:
        scores = mode.scores[:measures]
        for place, one in enumerate(scores):
            cells = _cells(found, mode, one, first=place == 0)
            rows.append(make_row(cells, ends_section=place == len(scores) - 1 and measures > 1))
    note = [f"{' and '.join(omitted)}: --all."] if omitted else []
    return TextTable.of(columns, rows), note


def _cells(
    found: Reproduction, mode: ModeReproduction, one: ScoreReproduction, *, first: bool
) -> list[str]:
    label = f"{mode.label} (baseline)" if mode.is_baseline else mode.label
    cells = [label if first else ""]
    rankings = mode.rankings
    if not found.replication:
        overlap = None if rankings is None else rankings.rbo
        tau = None if rankings is None else rankings.tau
        cells += [show(overlap), show(tau)] if first else ["", ""]
    cells += [one.measure, show_mean(one.mean_a, one.n_a, found.queries[0])]
    cells.append(show_mean(one.mean_b, one.n_b, found.queries[1]))
    if not found.replication:
        cells.append(show(one.rmse))
    cells.append(show_p(one.p_value))
    effect, change = one.effect_ratio, one.delta_relative_improvement
    cells.append("–" if effect is None else f"{effect:.2f}".replace("-", "−"))
    cells.append("–" if change is None else f"{change:+.3f}".replace("-", "−"))
    return cells


def _legend(found: Reproduction) -> list[str]:
    lines = []
    if found.similarity is not None:
        lines.append(
            f"RBO: RBO_EXT of the first {found.similarity.depth} documents, p = "
            f"{found.similarity.p:g}, 1 for equal rankings. tau: Kendall's tau Union. RMSE: root "
            "mean square error over queries, 0 for equal scores. The JSON also has the truncated "
            f"RBO of repro_eval (p = {TRUNCATED_P:g}, 1,000 documents)."
        )
    lines.append(f"p: {found.test}, not adjusted; a large p does not show that B reproduces A.")
    if found.baseline is not None:
        lines.append(
            "ER (effect ratio): improvement over the baseline in B, divided by that in A; 1 is "
            "perfect. ΔRI: relative improvement in A minus that in B; 0 is perfect."
        )
    return lines
