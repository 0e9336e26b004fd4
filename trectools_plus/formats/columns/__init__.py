"""Split lines into columns, and read ids and numbers in them as arrays."""
