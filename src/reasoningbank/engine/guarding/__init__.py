"""Quarantine with its way back, and a bank as it stood at another moment."""
