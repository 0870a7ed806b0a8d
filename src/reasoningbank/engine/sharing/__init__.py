"""Scopes: the search over project, team and org, promotion between them, and shared files."""
