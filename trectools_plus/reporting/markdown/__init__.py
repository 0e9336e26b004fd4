"""``BenchmarkComparison.md``, and tables in Markdown."""
