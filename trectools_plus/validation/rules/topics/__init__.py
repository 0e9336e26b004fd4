"""Rules for topics and test sets."""
