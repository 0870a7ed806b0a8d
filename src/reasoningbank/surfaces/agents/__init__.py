"""Agents that work with a bank's memories: adapters that make a trajectory of what they did."""
