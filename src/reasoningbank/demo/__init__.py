"""The demonstration: a real recorded session, the lessons distilled from it, and what the bank makes of them."""
