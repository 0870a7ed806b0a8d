"""Consolidation: which memories say nearly the same, what one memory says for them, and the way back."""
