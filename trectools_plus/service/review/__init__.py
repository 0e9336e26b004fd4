"""The review page: annotators judge the results of several modes side by side, without mode names.

:mod:`~trectools_plus.service.review.material` reads the results from a report.
:mod:`~trectools_plus.service.review.store` and :mod:`~trectools_plus.service.review.judgments`
store judgments, merge them and find disagreements.
:mod:`~trectools_plus.service.review.controller` orders queries and columns, and
records judgments. :mod:`~trectools_plus.service.review.app` serves the page, and
:mod:`~trectools_plus.service.review.summary` reports the results.
"""
