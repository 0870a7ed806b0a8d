"""The nouns, pure: no clock but the caller's, no file, no network, nothing but the standard library."""
