"""Read topics in the formats of TREC, CLEF, NTCIR and others, with the problems that they have.

:mod:`forms` detects the form of a file, and :mod:`reading` reads it. TSV and JSON Lines are read
line by line (:mod:`lines`, :mod:`json_lines`). Of other files, :mod:`trees`, :mod:`markup` and
:mod:`lines` find the records, :mod:`fields` chooses the fields with id and text by their names, and
:mod:`making` makes topics of them.

Readers never raise: they report each problem to a function. The rules of ``topics validate``
collect them; for loaders, :func:`model.refuse` raises the first one that is not a warning.
"""
