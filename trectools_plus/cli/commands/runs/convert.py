"""``runs convert``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import formats, validation
from trectools_plus.choices import RunFormat
from trectools_plus.cli.options.common import Columns
from trectools_plus.cli.validation import Output, report_conversion
from trectools_plus.errors import UsageError
from trectools_plus.text import listed


def runs_convert(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run file; - is standard input.")],
    output: Output = "-",
    source_format: Annotated[
        RunFormat | None, typer.Option("--from", help="Format of RUN.  [default: detected]")
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Tag to write.  [default: that of RUN, or its name]"),
    ] = None,
    columns: Columns = None,
) -> None:
    """csv and tsv have a header with the names of the columns; json is {query_id: {doc_id: score}},
    a list of objects, or an object per line; msmarco is 'qid pid rank', with or without a score;
    scores is 'qid docid score'; trec-rag is the JSON Lines of TREC RAG; cast is the JSON of CAsT
    and iKAT. If there are no scores, the negated ranks are the scores. Each system of a table has a
    file: FOLDER/SYSTEM.run, or my.SYSTEM.run for --output my.run. A run with errors is refused.

    \b
    Examples:
      runs convert results.csv --output my.run
      runs convert run.dev.tsv --from msmarco --tag bm25 > my.run
      runs convert hits.csv --columns query=q,doc_id=_id,score=_score --output my.run
      runs convert systems.csv --output runs
    """
    if output != "-":
        validation.refuse_overwriting(output, (run,))
    names = formats.column_names(columns)
    if tag is not None:
        converted = validation.convert_run(run, source_format=source_format, tag=tag, columns=names)
        found = {converted.table.name: converted}
    else:
        found = validation.convert_runs(run, source_format=source_format, columns=names)
    targets = [output] if len(found) == 1 else _targets(list(found), output)
    for target in targets:
        if target != "-":
            validation.refuse_overwriting(target, (run,))
    for target, converted in zip(targets, found.values(), strict=True):
        Path(target).parent.mkdir(exist_ok=True)
        formats.write_run(converted.table, target)
        report_conversion(converted, run, target)


def _targets(systems: list[str], output: str) -> list[str]:
    """Return the file of each system: in a folder, or beside a file that is not written itself.

    Raises:
        UsageError: If the output is standard output, or the files of two systems have one name.
    """
    if output == "-":
        raise UsageError(
            f"{len(systems):,} systems cannot be written to standard output",
            where=listed(systems),
            remedy="add --output FOLDER",
        )
    path = Path(output)
    names = [re.sub(r"[^A-Za-z0-9._-]+", "_", system).strip(".") or "empty" for system in systems]
    if len({name.lower() for name in names}) < len(names):
        raise UsageError(
            "the names of two systems are equal as names of files",
            where=listed(systems),
            remedy="rename a system",
        )
    if path.is_dir() or not path.suffix or output.endswith("/"):
        return [str(path / f"{name}.run") for name in names]
    stem, _, suffixes = path.name.partition(".")
    return [str(path.with_name(f"{stem}.{name}.{suffixes}")) for name in names]
