"""Sharing: promotion between scopes, and files that git merges."""
