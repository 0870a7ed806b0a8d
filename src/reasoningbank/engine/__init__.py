"""The ideas: recall, belief from evidence, hygiene. Sees ports, never an adapter."""
