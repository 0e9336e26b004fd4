"""Backends: what opens sources of search results.

``settings`` is the table of them; each has a folder or module of its own.
"""
