"""Integrations: clients, hooks, frameworks and agents."""
