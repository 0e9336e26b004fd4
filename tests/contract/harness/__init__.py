"""Run the installed commands on fixed inputs, and compare the results with frozen documents.

No module here imports the package by name: commands are found by their entry points.
`scripts/compare-with` uses the same cases and the same normaliser.
"""
