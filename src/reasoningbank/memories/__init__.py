"""Memories: how text comes into a bank."""
