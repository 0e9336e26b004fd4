"""``BenchmarkReport.html``: the report as one page that needs nothing but a browser."""
