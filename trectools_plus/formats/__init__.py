"""Reading and writing every kind of file: runs, qrels, topics, corpora."""
