"""What memory is worth: the hold-out, the difference it makes, and memories that do harm (docs/decisions/0014)."""
