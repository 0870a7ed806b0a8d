"""Secrets, invisible characters, tokens."""

from __future__ import annotations

from promised.promise import Promise

HYGIENE: tuple[Promise, ...] = (
    Promise(
        "hygiene:tokens",
        "issue Hygiene; spec/contextd 3.5 (C)",
        "Keys and tokens of 30 provider formats become typed placeholders in code, env, YAML, JSON, prose, URLs and logs, also when an invisible character or a line break cuts them.",
    ),
    Promise(
        "hygiene:passwords",
        "issue Hygiene",
        "Passwords in assignments, options, queries and database URLs become placeholders; user, host and the rest of the line stay readable.",
    ),
    Promise(
        "hygiene:names",
        "issue Hygiene",
        "The value given to a name such as api_key, client_secret or token is replaced, quoted or not.",
    ),
    Promise(
        "hygiene:private-keys",
        "issue Hygiene; spec/contextd 3.5 (C: the body too)",
        "A private key is replaced whole, also when its BEGIN or END line is cut off or its line ends are written as \\n.",
    ),
    Promise(
        "hygiene:no-false-alarm",
        "issue Hygiene",
        "Placeholders, references, hashes, identifiers and sentences about secrets are left exactly as they are.",
    ),
    Promise(
        "hygiene:findings-hold-no-secret",
        "DESIGN D10",
        "What is reported about a redaction is kinds and counts, never the secret.",
    ),
    Promise(
        "hygiene:idempotent",
        "issue Hygiene (stored and again on the way out)",
        "Redacting a redacted text changes nothing, and placeholders that are there stay as they are.",
    ),
    Promise(
        "hygiene:any-text",
        "issue Hygiene",
        "Any string can be redacted: lone surrogates, control characters, ten megabytes.",
    ),
    Promise(
        "hygiene:linear",
        "spec/engineering B.3 (7)",
        "The time of cleaning and redaction grows with the length of the text, not faster, on hostile text too.",
    ),
    Promise("hygiene:lazy", "DESIGN D12", "The detector is loaded only when a text is redacted."),
    Promise(
        "hygiene:invisible",
        "issue Hygiene",
        "Control, zero-width, bidi and tag characters never reach the store; texts are NFC and valid Unicode.",
    ),
    Promise("hygiene:readable", "issue Hygiene", "Emoji, and scripts that are written with joiners, stay as they are."),
    Promise("hygiene:one-line", "issue Hygiene", "Titles, tags and queries are one line with single spaces."),
    Promise(
        "hygiene:admit",
        "issue Hygiene; DESIGN D10",
        "Secrets are taken out of title, description, content, tags and category before anything is stored.",
    ),
    Promise(
        "hygiene:bounded-input",
        "issue Hygiene (lengths are bounded with a clear error)",
        "More than a million characters are refused with a hint before any rule runs.",
    ),
    Promise(
        "hygiene:reveal",
        "issue Hygiene (again on the way out)",
        "A secret that is in the store does not leave it; a memory without one leaves unchanged, and reading never fails for length.",
    ),
    Promise(
        "hygiene:reveal-speed",
        "issue Hygiene",
        "Checking a memory that was checked before takes less than 50 microseconds.",
    ),
    Promise("tokens:count", "issue Choice of models", "Tokens are counted with the published cl100k vocabulary."),
    Promise(
        "tokens:ordinary-text",
        "issue Choice of models",
        "Names of special tokens in a text are counted as ordinary text.",
    ),
    Promise("tokens:any-text", "issue Choice of models", "Any string has a token count."),
    Promise(
        "tokens:pieces",
        "issue Choice of models",
        "Counting a long text in pieces gives the same number as counting it at once.",
    ),
    Promise("tokens:linear", "issue Choice of models", "A million repeated characters are counted in bounded time."),
    Promise(
        "tokens:offline",
        "seed 000; DESIGN D12",
        "Counting tokens uses no network, no environment variable, writes no file and loads nothing before the first count.",
    ),
)
