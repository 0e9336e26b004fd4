"""Judgments that people made on the review page, in a database.

:mod:`~trectools_plus.judging.review.shown` describes the shown results,
:mod:`~trectools_plus.judging.review.store` is the database, and
:mod:`~trectools_plus.judging.review.judgments` records judgments, merges them and finds
disagreements.
"""
