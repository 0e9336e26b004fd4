"""Views: runs, qrels and pairs of them in the form that the rules check."""
