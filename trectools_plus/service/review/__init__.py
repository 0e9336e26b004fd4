"""The review page: annotators judge results without the names of the modes that found them.

:mod:`~trectools_plus.service.review.material` reads the results from a report or a plan.
:mod:`~trectools_plus.service.review.controller` orders queries and columns, and
records judgments with :mod:`trectools_plus.judging.judgments`.
:mod:`~trectools_plus.service.review.app` serves the page, and
:mod:`~trectools_plus.service.review.summary` reports the results.
"""
