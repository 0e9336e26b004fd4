"""Reference pages of the documentation, made from the live commands, measures, rules and models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from trectools_plus import benchmark, extraction, measures, testsets
from trectools_plus.cli.app import app
from trectools_plus.errors import UsageError

MADE_BY = "<!-- Made by scripts/docs from the code; edit the code, not this page. -->\n\n"


def generated_pages() -> dict[str, str]:
    """Return every generated page, as ``{path below docs/: text}``."""
    return {
        "measures.md": MADE_BY + render_measures_markdown(),
        "schema/BenchmarkReport.schema.json": _render_schema(benchmark.report_json_schema()),
        "schema/ExtractionReport.schema.json": _render_schema(
            extraction.extraction_report_schema()
        ),
        "schema/MultilingualReport.schema.json": _render_schema(
            benchmark.MultilingualReport.model_json_schema(mode="serialization")
        ),
        "schema/TestSet.schema.json": _render_schema(testsets.json_schema_of_test_sets()),
    }


def _render_schema(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def iter_commands() -> Iterator[tuple[str, str]]:
    """Yield each command's full name and its help text, as ``-h`` prints it."""
    yield from _walk(get_command(app), "trectools-plus", None)


def _walk(command: Any, name: str, parent: Any) -> Iterator[tuple[str, str]]:
    context = command.make_context(
        name.rsplit(" ", 1)[-1],
        [],
        parent=parent,
        resilient_parsing=True,
        terminal_width=100,
        max_content_width=100,
    )
    yield name, context.get_help()
    for child, listed in getattr(command, "commands", {}).items():
        if not listed.hidden:
            yield from _walk(command.load(child), f"{name} {child}", context)


def render_measures_markdown() -> str:
    """Render the definitions of all measures that this package defines."""
    parts = [
        "# Measures\n\n"
        "A name has the form `Label(parameter=value)@cutoff`, as in `ir_measures`, whose other\n"
        "measures are accepted too. For counts and some parameters, an error names the call of\n"
        "`trec-eval`. Case does not matter: `ndcg@10` is `nDCG@10`. A cutoff\n"
        "may also be written as `ndcg_10`, `ndcg.10` or `ndcg_at_10`, and a relevance level as in\n"
        "ranx (`map@100-l2`). `trectools-plus explain NAME` prints the definition of a measure\n"
        "with your parameters.\n\n"
        "Measures that `ir_measures` computes with `pyndeval` or `cwl-eval` (`alpha_nDCG@10`,\n"
        "`ERR_IA@10`, `BPM(max_rel=3)@10`) need the extra `measures`: `pip install\n"
        "'trectools-plus[measures]'`. The measures of diversity need qrels with subtopics in the\n"
        "second column; a document with several subtopics is refused (Q143).\n\n"
    ]
    parts.append(_no_relevant_section())
    parts += [_measure_section(label) for label in measures.measure_labels()]
    return "\n".join(parts)


def _no_relevant_section() -> str:
    """Describe the value of measures for a query without a relevant document."""
    others = " and ".join(f"`{name}`" for name in sorted(measures.UNDEFINED))
    return (
        "## Queries without a relevant document\n\n"
        "A query whose judgments are all of grade 0 or less counts in every mean, as in C\n"
        "trec_eval (with `-c`, also if the run has no results for it), pytrec_eval, `ir_measures`\n"
        "and ranx. A note gives the number of such queries. `--no-relevant drop` (in Python\n"
        '`no_relevant="drop"`) leaves them out of all means; reports record the setting. A query\n'
        "counts as one with a relevant document from grade 1 on, whatever the relevance level of\n"
        "a measure: `AP(rel=2)` is 0 for a query whose highest grade is 1, as with `-l 2`.\n\n"
        f"Measures that only `ir_measures` computes are 0 there, except {others}, which are\n"
        "undefined. Undefined values are left out of the mean and counted. A measure of your own\n"
        "has its `value_without_results`.\n"
    )


def example_of(label: str) -> str:
    """Return a valid measure name with this label, with a cutoff if it needs one."""
    for name in (f"{label}@10", f"{label}@0.1", label):
        try:
            return measures.parse_measure(name).name
        except UsageError:
            continue
    return label


def _measure_section(label: str) -> str:
    definition = measures.explain(example_of(label))
    rows = {
        "formula": definition.formula,
        "gain": definition.gain,
        "denominator": definition.denominator,
        "relevant from grade": definition.relevance_level,
        "ties": definition.ties,
        "averaged over": definition.averaged_over,
        "provider": re.sub(r" \d[\w.]*", "", definition.provider, count=1),
        "trec_eval": f"`{definition.trec_eval_call}`" if definition.trec_eval_call else "none",
    }
    lines = [f"| {key} | {str(value).replace('|', chr(92) + '|')} |" for key, value in rows.items()]
    head = f"## {label}\n\n| for example | `{definition.name}` |\n|---|---|\n"
    return head + "\n".join(lines) + "\n"
