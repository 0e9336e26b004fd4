"""``trectools-plus testset``: check, convert, split and refresh test sets."""
