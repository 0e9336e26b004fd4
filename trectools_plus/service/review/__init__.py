"""A page on which people judge the results of several modes side by side, without their names.

:mod:`~trectools_plus.service.review.material` reads what is shown from a report,
:mod:`~trectools_plus.service.review.store` and :mod:`~trectools_plus.service.review.judgments`
store what was judged, :mod:`~trectools_plus.service.review.desk` decides the order and joins them,
:mod:`~trectools_plus.service.review.app` puts them on HTTP, and
:mod:`~trectools_plus.service.review.summary` reports the results.
"""
