"""Operations: what entrances offer, and results as fields and text."""
