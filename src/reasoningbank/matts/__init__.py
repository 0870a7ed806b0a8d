"""Several attempts at one task: test-time scaling (paper 1.8)."""
