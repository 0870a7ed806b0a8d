"""Filling and searching the contextual graph: admission, indexing, files, import, seeds of a walk."""
