"""One benchmark: its configuration, data, runs and output folder."""
