"""``trectools-plus trec-eval``: a command line that belongs to trec_eval."""

from __future__ import annotations

from typing import Annotated

import typer

CONTEXT = {
    "help_option_names": ["--help"],
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}
"""-h is trec_eval's own, and all other flags are read by ``parse_arguments``."""

VERSIONS = {9: "9.0.8", 10: "10.0"}


def trec_eval(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FLAGS] QRELS RUN", help="As for trec_eval; -h explains them."),
    ] = None,
) -> None:
    """Score a run as trec_eval does, byte for byte.

    Takes trec_eval's flags and prints what trec_eval 9.0.8 prints; with --trec-eval-version 10
    what version 10 prints. Input at which trec_eval would stop, crash or print zeros is refused
    and named; --permissive lets through what trec_eval reads on at.

    \b
    Examples:
      trectools-plus trec-eval qrels.txt my.run
      trectools-plus trec-eval -q -c -M1000 -m map -m ndcg_cut.10,20 qrels.txt my.run
      trectools-plus trec-eval --trec-eval-version 10 -m all_trec qrels.txt my.run
      trectools-plus trec-eval -h -m all_trec
    """
    from trectools_plus.cli import printing
    from trectools_plus.trec_eval.arguments import parse_arguments

    arguments = parse_arguments(words or [])
    if arguments.version_wanted:
        typer.echo(f"trec_eval version {VERSIONS[arguments.version]}", err=True)
        return
    if arguments.help:
        from trectools_plus.trec_eval.explain import help_lines

        printing.write_text(help_lines(arguments))
        return
    from trectools_plus.trec_eval.output import output_lines
    from trectools_plus.trec_eval.reading import read_input
    from trectools_plus.trec_eval.scoring import score

    data = read_input(arguments)
    scores = score(data, arguments)
    printing.write_text(output_lines(scores, arguments))
    for note in (*arguments.notes, *data.notes):
        typer.echo(f"note: {note}", err=True)
