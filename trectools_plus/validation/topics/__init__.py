"""Topics and test sets as rules see them: the content of a file, and the problems in it.

A file is read once (by :mod:`loading`, and :mod:`cases` for test sets) into a
:class:`~trectools_plus.validation.topics.view.TopicsView`. Readers never raise: a problem becomes a
:class:`~trectools_plus.validation.topics.view.Trouble`.
"""
