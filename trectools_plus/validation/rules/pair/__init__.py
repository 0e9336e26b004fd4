"""Rules for a run beside its qrels and topics."""
