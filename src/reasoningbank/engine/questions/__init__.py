"""Questions: planning them into sub-queries, with a language model or by rule, and answering them."""
