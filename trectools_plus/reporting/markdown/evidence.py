"""The second half of ``BenchmarkComparison.md``: what stands behind the figures."""

from __future__ import annotations

import json

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.reporting.facts import (
    collect_findings,
    list_commands,
    list_definition,
    list_hashes,
)
from trectools_plus.reporting.markdown.tables import MOST_QUERIES, escape, markdown_table
from trectools_plus.text import plural


def diagnostics_section(report: BenchmarkReport) -> str:
    """Sizes, gaps, ties and findings of every mode."""
    rows = []
    for result in report.modes.values():
        found = result.diagnostics
        judged = next(iter(found.judged.items()), None)
        rows.append(
            [
                result.label,
                found.status if result.status == "ok" else result.status,
                str(result.run.queries),
                str(result.run.results),
                str(len(found.missing_queries)),
                str(len(found.shallow_queries)),
                str(result.run.ties.pairs),
                "–" if judged is None or judged[1] is None else f"{judged[1]:.1%} ({judged[0]})",
            ]
        )
    for mode in report.unscored.values():
        answered = mode.queries - len(mode.failed_queries)
        rows.append([mode.label, f"{mode.status}, not scored", str(answered), *["–"] * 5])
    header = ["Mode", "Status", "Queries", "Results", "Missing", "Shallow", "Ties", "Judged"]
    parts = [
        "## Diagnostics",
        markdown_table(header, rows),
        "Missing: queries with a relevant document and no result, counted 0 with `missing: zero`. "
        "Shallow: queries with fewer results than the deepest cutoff asked, or than there are "
        "documents. Ties: neighbouring results whose scores are equal as 32-bit floats; document "
        "ids order them, and the files in `runs/` spell that order out in falling scores.",
        _findings(report),
    ]
    without = next(iter(report.modes.values())).diagnostics.queries_without_relevant
    if without:
        listed = ", ".join(without[:MOST_QUERIES]) + (" …" if len(without) > MOST_QUERIES else "")
        parts.append(
            f"Judged, but without a relevant document, and so left out of every mean: "
            f"{plural(len(without), 'query', 'queries')} ({escape(listed)})."
        )
    return "\n\n".join(part for part in parts if part)


def _findings(report: BenchmarkReport) -> str:
    found = collect_findings(report)
    lines = [
        escape(f"- **{label}:** {item.severity} {item.code}: {item.message}")
        for label, item in found.serious
    ]
    if found.infos:
        lines.append(f"- {found.infos} findings of severity info are in `BenchmarkReport.json`.")
    return "Findings of the validators:\n\n" + "\n".join(lines) if lines else ""


def latency_section(report: BenchmarkReport) -> str:
    """Milliseconds per query; empty when nothing was timed."""
    rows = [
        [result.label, *(f"{value:.2f}" for value in (ms.mean, ms.p50, ms.p95, ms.p99))]
        for result in report.modes.values()
        if (ms := result.latency_ms) is not None
    ]
    if not rows:
        return ""
    header = ["Mode", "Mean", "p50", "p95", "p99"]
    threads = report.manifest.blas_threads
    limited = f", matrix products limited to {plural(threads, 'thread')}" if threads else ""
    return (
        f"## Latency\n\nMilliseconds per query on this machine, index loading left out{limited}."
        "\n\n" + markdown_table(header, rows)
    )


def definitions_section(report: BenchmarkReport) -> str:
    """What each measure means."""
    first = next(iter(report.modes.values()))
    lines = []
    for name, figures in first.measures.items():
        what = figures.definition
        alias = f" (asked for as {what.alias})" if what.alias else ""
        call = f"; the same figure: `{what.trec_eval_call}`" if what.trec_eval_call else ""
        lines.append(f"- **{name}**{alias}: {escape('; '.join(list_definition(what)))}{call}.")
    some = next(iter(first.measures.values())).definition
    missing = report.manifest.config.get("missing", "zero")
    return (
        "## Definitions\n\n"
        + "\n".join(lines)
        + escape(
            f"\n\nTies: {some.ties}. Averaged over: {some.averaged_over}; here missing={missing}."
        )
    )


def reproduction_section(report: BenchmarkReport) -> str:
    """Command, versions, hashes, configuration."""
    manifest = report.manifest
    versions = ", ".join(f"{name} {version}" for name, version in manifest.packages.items())
    config = json.dumps(manifest.config, indent=2, ensure_ascii=False)
    return "\n\n".join(
        [
            "## How to reproduce",
            "\n".join(["```sh", *list_commands(report), "```"]),
            f"Experiment {manifest.experiment_id}, {manifest.created_at}, seed {manifest.seed}; "
            f"{manifest.python} on {manifest.platform}; {versions}.",
            markdown_table(
                ["What", "SHA-256"],
                [[escape(what), f"`{digest}`"] for what, digest in list_hashes(report)],
            ),
            "<details><summary>The configuration, every default spelled out "
            "(valid as benchmark.yaml)</summary>\n\n"
            f"```json\n{config}\n```\n\n</details>",
        ]
    )
