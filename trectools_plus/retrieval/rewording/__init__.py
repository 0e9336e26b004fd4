"""Other words for queries: translations, lay words and measurements."""
