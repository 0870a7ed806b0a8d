"""The demonstration: two sessions of a scripted agent through real hooks and the real server, and an example graph."""
