"""Experience search (seed 002): searches that learn from how earlier, similar searches ended."""
