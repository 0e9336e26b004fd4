"""trec_eval without a compiler: its flags, its measures, its output.

::

    arguments.py    flags, read as getopt reads them
    catalogue.py    the measures in trec_eval's order, their sets and versions
    parameters.py   what stands behind the dot of a measure, and the names it makes
    reading.py      files, refused where trec_eval would print zeros or stop
    judging.py      which queries count, and the grades along their rankings
    delegated.py    what pytrec_eval computes
    own.py          what it does not: relstring, utility with -N
    version10.py    what only version 10 computes, or computes differently
    scoring.py      a value for each query and measure
    summary.py      the line "all"
    output.py       trec_eval's lines
    explain.py      the help of -h

Nothing is imported here, so that ``-h`` need not wait for Polars.
"""
