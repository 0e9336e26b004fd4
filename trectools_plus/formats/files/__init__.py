"""Files: opening, decompressing and reading them, limits on their size, and atomic writing."""
