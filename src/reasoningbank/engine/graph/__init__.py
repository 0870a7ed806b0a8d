"""Reading the contextual graph: activation walks, paths as text and pictures, preferences, events and sources."""
