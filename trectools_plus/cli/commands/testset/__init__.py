"""``trectools-plus testset``: test sets."""
