"""Files as rules see them."""
