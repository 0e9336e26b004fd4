"""The Human Phenotype Ontology: its terms as documents, other words for queries, and answers."""
