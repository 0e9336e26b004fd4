"""``eval`` and ``trec-eval``: scores of runs; ``explain``: measures and rules."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from trectools_plus import measures, reporting, trec_eval, validation
from trectools_plus.cli.options import ScoringOptions, TextOrJson
from trectools_plus.cli.printing import note, print_notes, write_content, write_document, write_text
from trectools_plus.display import TextTable
from trectools_plus.errors import UsageError
from trectools_plus.text import printable

if TYPE_CHECKING:
    import polars as pl

_Format = Literal["table", "json", "csv", "parquet"]
_SUFFIXES: dict[str, _Format] = {
    "": "table",
    ".txt": "table",
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
}
_IN_TOP = re.compile(r"in_?top", re.IGNORECASE)
"""Begins the names of recall as a fraction of counts, for example ``inTop3``: 2/3."""


def evaluate_runs(
    qrels: Annotated[
        str,
        Argument(
            metavar="QRELS",
            help="TREC or BEIR qrels: a file; - is standard input.",
        ),
    ],
    runs: Annotated[
        list[str],
        Argument(
            metavar="RUN...",
            help="Run files, or NAME=FILE; without NAME=, a run is named after its "
            "file. - is standard input.",
        ),
    ],
    scoring: ScoringOptions,
    per_query: Annotated[
        bool, Option("--per-query", help="Output the value of every query too.")
    ] = False,
    output_format: Annotated[
        _Format | None,
        Option(
            "--format",
            help="Output format: table to read, the others for programs.  [default: that of the "
            "suffix of --output, else table]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="Write to this file instead of stdout."),
    ] = None,
) -> None:
    """The files are validated first. Input is refused only if a figure would be wrong or ambiguous;
    a note on stderr names all other findings.
    Means are over all queries of the qrels; the table shows their number. Without --measure, the
    measures are nDCG@10, AP@100, RR@10, R@50, R@100 and HitRate@10.

    \b
    Examples:
      trectools-plus eval qrels.txt bm25.run
      trectools-plus eval qrels.txt bm25.run hybrid.run -m nDCG@10 -m MRR@10
      trectools-plus eval qrels.txt bm25.run mine=hybrid.run -m nDCG@10,AP
      trectools-plus eval qrels.txt bm25.run --per-query --format csv > scores.csv
      trectools-plus eval qrels.txt bm25.run --per-query -o scores.parquet
      trectools-plus eval qrels.txt runs/*.run --scheduler tcp://10.0.0.1:8786
      trectools-plus eval qrels.txt hits.csv --columns query=q,doc_id=_id,score=_score
      trectools-plus eval qrels.txt a.run -m "MaxOntSim(formula='lin')@10" --ontology hp.obo
    """
    suffix = "" if output is None else output.suffix.lower()
    kind = output_format or _SUFFIXES.get(suffix)
    if kind is None:
        raise UsageError(
            f"unknown format '{suffix}'",
            where=str(output),
            remedy="use .txt, .json, .csv or .parquet, or add --format",
        )
    scored = scoring.score(qrels, runs)
    evaluation = scored.evaluation
    if kind == "json":
        document = reporting.evaluation_document(
            qrels, scored.runs, evaluation, per_query=per_query
        )
        if scored.exclusions is not None:
            document["exclude"] = scored.exclusions.record
        write_document(document, output=output)
    elif kind == "table":
        judged = measures.JudgedQueries.of(scored.qrels) if per_query else None
        write_text(as_table(evaluation, judged), output)
    else:
        frame, content = as_frame(evaluation, per_query=per_query), io.BytesIO()
        if kind == "csv":
            content.write(reporting.frame_as_csv(frame).encode())
        else:
            frame.write_parquet(content)
        write_content(content.getvalue(), output)
    print_notes(evaluation)


def as_frame(evaluation: measures.Evaluation, *, per_query: bool) -> pl.DataFrame:
    """Return a long table: one row per run and measure, and per query if ``per_query``."""
    if per_query:
        return evaluation.per_query()
    import polars as pl

    rows = []
    for name in evaluation.run_names:
        for measure in evaluation.measure_names:
            mean, n = evaluation.mean(name, measure), evaluation.n(name, measure)
            row = {"run": name, "measure": measure, "mean": None if math.isnan(mean) else mean}
            rows.append({**row, "n": n, **evaluation.counts[name].as_dict()})
    return pl.DataFrame(rows, schema_overrides={"mean": pl.Float64})


def as_table(
    evaluation: measures.Evaluation, judged: measures.JudgedQueries | None = None
) -> Iterator[str]:
    """Yield the lines of a table: the means, one column per run, and the numbers of queries.

    Columns that exceed the width follow in further blocks.

    Args:
        evaluation: The scores.
        judged: The judgments, if the values of each query are to come before the means.
    """
    runs, names = evaluation.run_names, evaluation.measure_names
    for run in runs if judged is not None else ():
        cells = [_values(evaluation, run, measure, judged) for measure in evaluation.measures]
        rows = list(zip(evaluation.query_ids[run], *cells, strict=True))
        table = TextTable.of(["query", *names], rows, right=names)
        yield from (printable(run), *table.lines(), "")
    counts = [evaluation.counts[run] for run in runs]
    counted = "counted 0" if evaluation.averaging.missing == "zero" else "left out"
    means = [
        [_label(measure), *(_mean(evaluation, run, measure) for run in runs)]
        for measure in evaluation.measures
    ]
    scored = ["queries averaged over", *(f"{c.n_scored:,} of {c.n_qrels:,}" for c in counts)]
    missing = [f"without results, {counted}", *(f"{c.n_missing:,}" for c in counts)]
    table = TextTable.of(["measure", *runs], [*means, scored, missing], right=runs)
    yield from table.lines()


def _label(measure: measures.Measure) -> str:
    """Return the name as requested, followed by the canonical name if that differs."""
    name = measure.requested_name
    return name if name == measure.name else f"{name} ({measure.name})"


def _values(
    evaluation: measures.Evaluation,
    run: str,
    measure: measures.Measure,
    judged: measures.JudgedQueries | None,
) -> list[str]:
    """Return the values of a measure for each query; those of ``inTop3`` as fractions."""
    values = evaluation.values(run, measure.requested_name).tolist()
    if judged is None or not _IN_TOP.match(measure.requested_name):
        return list(map(_figure, values))
    relevant = judged.count_relevant(measure.relevance_level)
    counts = [relevant.get(query_id, 0) for query_id in evaluation.query_ids[run]]
    pairs = zip(values, counts, strict=True)
    return [f"{round(value * count)}/{count}" for value, count in pairs]


def _mean(evaluation: measures.Evaluation, run: str, measure: measures.Measure) -> str:
    name = measure.requested_name
    value, n = evaluation.mean(run, name), evaluation.n(run, name)
    figure = _figure(value)
    return figure if n == evaluation.counts[run].n_scored else f"{figure} (n={n:,})"


def _figure(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.4f}"


VERSIONS = {9: "9.0.8", 10: "10.0"}


def score_like_trec_eval(
    words: Annotated[
        list[str] | None,
        Argument(metavar="[FLAGS] QRELS RUN", help="Arguments of trec_eval; -h prints its help."),
    ] = None,
) -> None:
    """The command takes trec_eval's flags and prints the output of trec_eval 9.0.8, or of version
    10 with --trec-eval-version 10. Where other commands refuse a file, or print another figure,
    it prints trec_eval's figure and a note. It refuses input with which trec_eval stops, crashes or
    hangs, or its figures are not determined; and, unless --permissive is given, input whose
    figures mean nothing. --strict-input refuses every error.

    \b
    Examples:
      trectools-plus trec-eval qrels.txt my.run
      trectools-plus trec-eval -q -c -M1000 -m map -m ndcg_cut.10,20 qrels.txt my.run
      trectools-plus trec-eval --trec-eval-version 10 -m all_trec qrels.txt my.run
      trectools-plus trec-eval -h -m all_trec
    """
    arguments = trec_eval.parse_arguments(words or [])
    if arguments.version_wanted:
        typer.echo(f"trec_eval version {VERSIONS[arguments.version]}", err=True)
        return
    if arguments.help:
        write_text(trec_eval.help_lines(arguments))
        return
    scores, notes = trec_eval.score_files(arguments)
    write_text(trec_eval.output_lines(scores, arguments), errors="surrogateescape")
    for text in (*arguments.notes, *notes):
        note(text)


def explain_name(
    name: Annotated[
        str | None,
        Argument(
            metavar="NAME",
            help="Name, alias or trec_eval spelling of a measure; or code or name of a rule.  "
            "[default: list the measures]",
            show_default=False,
        ),
    ] = None,
    output_format: TextOrJson = "text",
) -> None:
    """For a measure, the output lists the formula, gain, cutoff, denominator, tie order, the
    queries averaged over, the library that computes it, and the trec_eval call that prints the
    same value. Each measure can have a cutoff and parameters, for example nDCG@10 or
    AP(rel=2)@100.

    For a rule, it lists the severity, what the rule checks and why, an example, a remedy, and
    whether --fix fixes it. If several rules have the same name, all of them are shown.

    \b
    Examples:
      trectools-plus explain
      trectools-plus explain nDCG@10
      trectools-plus explain "AP(rel=2)@100"
      trectools-plus explain MRR@10 --format json
      trectools-plus explain R131
      trectools-plus explain duplicate-document
    """
    if name is None:
        labels = {*measures.measure_labels(), *measures.ir_measures_labels()}
        write_document({"measures": sorted(labels, key=str.casefold)}, output_format)
        return
    try:
        definition = measures.explain(re.sub("@k$", "@10", name, flags=re.IGNORECASE))
    except UsageError:
        codes = [rule for rule in validation.CATALOGUE if rule.code == name.upper()]
        rules = list(map(_as_dict, codes or validation.CATALOGUE.named(name)))
        if not rules:
            raise
        for document in [{"rules": rules}] if output_format == "json" else rules:
            write_document(document, output_format)
        return
    write_document(definition.as_dict(), output_format)


def _as_dict(rule: validation.Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": str(rule.severity),
        "checks": rule.checks,
        "rationale": rule.rationale,
        "example": rule.example,
        "remedy": rule.remedy,
        "fix": str(rule.fix_kind),
        "stops_scoring": rule.can_block_scoring,
    }
