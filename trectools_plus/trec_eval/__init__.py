"""trec_eval without a compiler: its flags, its measures, its output.

::

    arguments.py    flags and parameters of measures, read as getopt and trec_eval read them
    reading.py      files, refused where trec_eval would print zeros or stop; rankings with grades
    scoring.py      a value for each query and measure, from pytrec_eval or from builtin.py
    builtin.py      what pytrec_eval does not give, and what version 10 computes differently
    output.py       trec_eval's lines, and the line "all"
    explain.py      the help of -h

The measures in trec_eval's order are in ``measures/definitions/trec_eval_measures.py``. Nothing is
imported here, so that ``-h`` need not wait for Polars.
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
