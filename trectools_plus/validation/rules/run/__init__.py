"""Rules for runs."""
