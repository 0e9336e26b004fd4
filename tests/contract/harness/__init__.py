"""Run the installed commands on fixed inputs, and compare what they do with frozen documents.

Nothing here imports the package: commands are found by their entry points. `scripts/compare-with`
uses the same cases and the same normaliser.
"""
