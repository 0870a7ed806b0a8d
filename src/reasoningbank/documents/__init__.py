"""Documents and files that frameworks keep in a bank."""
