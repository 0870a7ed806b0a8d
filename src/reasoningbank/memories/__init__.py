"""Memories: admission, evidence, versions, transfer."""
