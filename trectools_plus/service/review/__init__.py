"""The review page: people judge the results of several modes side by side, without their names.

:mod:`~trectools_plus.service.review.material` reads the results from a report.
:mod:`~trectools_plus.service.review.store` and :mod:`~trectools_plus.service.review.judgments`
store judgments. :mod:`~trectools_plus.service.review.desk` orders the results and joins them with
judgments. :mod:`~trectools_plus.service.review.app` serves the page, and
:mod:`~trectools_plus.service.review.summary` reports the results.
"""
