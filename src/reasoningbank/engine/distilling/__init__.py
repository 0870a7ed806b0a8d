"""What a session teaches: digest, extraction, validation, admission."""
