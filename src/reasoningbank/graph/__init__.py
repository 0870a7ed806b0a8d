"""The contextual graph: nodes, edges, walk, search, import, render."""
