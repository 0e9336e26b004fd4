"""Rules for qrels."""
