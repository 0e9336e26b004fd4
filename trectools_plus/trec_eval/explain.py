"""The help that ``-h`` prints, in this package's words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from trectools_plus.trec_eval.arguments import USAGE, Arguments
from trectools_plus.trec_eval.catalogue import sets_of
from trectools_plus.trec_eval.explanations import explanation_of

WIDTH = 96

FLAGS = """\
  -q  --query_eval_wanted          Print every query's figures too.
  -m  --measure NAME[.PARAMETERS]  Measure or set of measures; repeatable. Without: official.
  -c  --complete_rel_info_wanted   Average over all queries of the qrels; without results is 0.
  -l  --level_for_rel N            Grades from N on are relevant; 1 without it.
  -n  --nosummary                  Do not print the figures over all queries.
  -M  --Max_retrieved_per_topic N  Only the first N documents of each query count.
  -J  --Judged_docs_only           Take unjudged documents out of the rankings first.
  -N  --Number_docs_in_coll N      Documents in the collection, for utility.
  -D  --Debug_level N.QUERY        This query alone. No debugging output is printed.
  -R  --Rel_info_format qrels      The only format of judgments.
  -T  --Results_format trec_results
                                   The only format of results.
  -v  --version                    Print the version of trec_eval that is matched.
  -h                               Print this; with -m also what those measures mean.
      --trec-eval-version 9|10     Which trec_eval to be: 9.0.8, or 10.
      --permissive                 Read on where trec_eval would, whatever the figures are worth.
      --help                       A short help.
"""

FORMATS = """\
QRELS has rows  query_id iteration doc_id grade , RUN has rows  query_id Q0 doc_id rank score tag .
Rankings follow the score, highest first, then the document id, descending; the rank column is not
looked at. A line that begins with # is a comment. - is standard input; gzip, bz2, xz and zstd are
unpacked. Queries without judgments are left out, and without -c those without results too.
"""


def help_lines(arguments: Arguments) -> Iterator[str]:
    """Yield the help, with what the measures mean that were named.

    Args:
        arguments: The command line that ``-h`` stood in.
    """
    yield f"Usage: {USAGE}"
    yield ""
    yield "Score a run as trec_eval does: its flags, its measures, its output."
    yield ""
    yield from FLAGS.splitlines()
    yield ""
    yield from FORMATS.splitlines()
    yield ""
    for name, members in sets_of(arguments.version).items():
        yield from _paragraph(f"{name}: {' '.join(members)}", "")
    yield ""
    if not arguments.measures_named:
        yield "Name measures with -m to have them explained: -h -m all_trec"
        return
    for asked in arguments.asked:
        yield asked.measure.name
        yield from _paragraph(explanation_of(asked.measure.name), "    ")


def _paragraph(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent="    ")
