"""The report of a benchmark: its models, and the files beside it."""
