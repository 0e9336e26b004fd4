"""trec_eval without a compiler: its flags, measures and output.

::

    errors.py    flags and parameters of measures, parsed as by getopt and trec_eval
    command.py      scores of the files of a command line, and z-scores
    inputs.py       reading and validation of the files
    scoring.py      values of each query and measure, from pytrec_eval or builtin.py
    judges.py       grades and preferences of several judges, and their scores
    builtin.py      measures that pytrec_eval does not have or version 10 computes differently
    output.py       trec_eval's output lines, and the help of -h

The measures in trec_eval's order are in ``measures/definitions/trec_eval_measures.py``. Modules
are imported on first use, so that ``-h`` loads few.
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "trec_eval.arguments": ["parse_arguments"],
        "trec_eval.inputs": ["read_input"],
        "trec_eval.output": ["output_lines"],
        "trec_eval.scoring": ["score"],
    },
    internal={"trec_eval.command": ["score_files"], "trec_eval.output": ["help_lines"]},
)
