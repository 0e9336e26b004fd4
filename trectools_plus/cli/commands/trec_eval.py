"""``trectools-plus trec-eval``: the command line and output of trec_eval."""

from __future__ import annotations

from typing import Annotated

import typer

from trectools_plus import trec_eval
from trectools_plus.cli.printing import write_text
from trectools_plus.cli.verbosity import note

VERSIONS = {9: "9.0.8", 10: "10.0"}


def score_like_trec_eval(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FLAGS] QRELS RUN", help="Arguments of trec_eval; -h prints its help."
        ),
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
