"""Topics and test sets as rules see them: what a file holds, and what was wrong while reading it.

A file is read once, by a reader of its form (:mod:`tsv`, :mod:`jsonl`, :mod:`markup`,
:mod:`testset`), into a :class:`~trectools_plus.validation.topics.view.TopicsView`. Readers never
raise: what is wrong is kept as :class:`~trectools_plus.validation.topics.view.Trouble`.
"""
