"""Rules for test sets with an ontology and other parts."""
