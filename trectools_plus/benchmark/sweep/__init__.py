"""Variants of a system on the same queries, and the figure that the best of them will have."""
