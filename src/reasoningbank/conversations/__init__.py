"""Conversations, questions and workflows (seed 003)."""
