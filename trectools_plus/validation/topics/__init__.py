"""Read topics and test sets into views, with the problems that were found in them.

A file is read once (by :mod:`engine`, and :mod:`cases` for test sets) into a
:class:`~trectools_plus.validation.views.topics.TopicsView`. Readers never raise: they report each
:class:`~trectools_plus.formats.topic_records.model.TopicProblem`.
"""
