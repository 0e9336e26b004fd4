"""``trectools-plus runs``: run files."""
