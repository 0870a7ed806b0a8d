"""Measurements on real data: how well memory finds what was learned (DESIGN D13)."""
