"""Read topics and test sets into views, with the problems that were found in them.

A file is read once (by :mod:`loading`, and :mod:`cases` for test sets) into a
:class:`~trectools_plus.validation.topics.view.TopicsView`. Readers never raise: a problem becomes a
:class:`~trectools_plus.validation.topics.view.Problem`.
"""
