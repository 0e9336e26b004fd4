"""Inputs: annotated documents, predictions of other systems, and phenopackets."""
