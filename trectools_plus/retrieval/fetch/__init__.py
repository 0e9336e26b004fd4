"""Queries are answered: asking sources, journals, run files and their manifests."""
