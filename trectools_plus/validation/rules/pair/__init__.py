"""Rules for a run together with its qrels and topics."""
