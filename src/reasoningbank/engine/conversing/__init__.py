"""Remembering a finished conversation: reading it, what is certain of it, what a language model adds, storing it."""
