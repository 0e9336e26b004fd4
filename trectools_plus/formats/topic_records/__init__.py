"""Topics in the formats of TREC, CLEF, NTCIR and others: find records, choose fields, make topics.

:mod:`trees`, :mod:`markup` and :mod:`lines` find the records of a file, :mod:`fields` chooses the
fields with id and text by their names, and :mod:`reading` makes topics of them.
"""
