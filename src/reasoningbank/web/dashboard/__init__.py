"""The dashboard: pages on which a person looks at a bank, rates, edits, approves and takes back."""
