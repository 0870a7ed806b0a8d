"""How a session ended: facts first, a language model only after them."""
