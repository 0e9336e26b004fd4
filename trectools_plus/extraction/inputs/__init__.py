"""What is read: annotated documents, predictions of other systems, and phenopackets."""
