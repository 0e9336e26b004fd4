"""Backends: what opens sources of search results.

``table`` lists the built-in ones, ``settings`` reads what a configuration says of them; each has a
folder or module of its own.
"""
