"""``trectools-plus runs``: validate, fetch, fuse and summarise run files."""
