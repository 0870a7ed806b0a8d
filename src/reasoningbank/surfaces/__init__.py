"""Surfaces: the ways in. Each speaks one protocol and calls the bank; none holds a rule of its own."""
