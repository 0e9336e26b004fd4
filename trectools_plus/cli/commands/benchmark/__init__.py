"""``trectools-plus benchmark``: compare retrieval modes or run files."""
