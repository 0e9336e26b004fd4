"""Fetching runs: queries, answers, journals, run files and their manifests."""
