"""What searches when it is not an embedded mode: services, functions, plug-ins.

A :class:`~trectools_plus.retrieval.backends.base.Backend` opens one
:class:`~trectools_plus.retrieval.backends.base.Source` per mode; a source is asked a few queries
at a time and answers each with hits or with the reason why not. Retries over a wire are the
source's own business. Going deeper until there are enough documents, collapsing chunks, the
journal and the statuses are the same for all sources (``answering``, ``asking``).
"""
