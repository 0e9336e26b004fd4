"""The rules, grouped by what they look at; the module ``catalogue`` lists them."""
