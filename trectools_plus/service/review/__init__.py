"""A page on which people judge the results of several modes side by side, without their names.

:mod:`~trectools_plus.service.review.material` reads what is shown from a report,
:mod:`~trectools_plus.service.review.blinding` decides its order,
:mod:`~trectools_plus.service.review.store` keeps what was judged,
:mod:`~trectools_plus.service.review.desk` joins the three,
:mod:`~trectools_plus.service.review.app` puts them on HTTP, and
:mod:`~trectools_plus.service.review.export` and :mod:`~trectools_plus.service.review.summary` say
what came of it.
"""
