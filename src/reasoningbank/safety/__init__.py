"""Safety of text: unicode, secrets, prompt injection, quotation."""
