"""What the actions of ``rbank graph`` do; the options are declared in commands/graph.py."""
