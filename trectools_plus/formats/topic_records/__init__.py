"""Read topics in the formats of TREC, CLEF, NTCIR and others, with the problems that they have.

:mod:`forms` detects the form of a file. TSV is read line by line (:mod:`lines`). Of other files,
:mod:`documents`, :mod:`markup` and :mod:`lines` find the records, and :mod:`making` chooses the
fields with id and text by their names, and makes topics of them.

Readers never raise: they report each problem to a function. The rules of ``topics validate``
collect them; for loaders, :func:`model.refuse` raises the first one that is not a warning.
"""
