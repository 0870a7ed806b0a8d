"""Embedders."""

from __future__ import annotations

from promised.promise import Promise

EMBEDDING: tuple[Promise, ...] = (
    Promise(
        "embedding:lazy",
        "issue (Embedding), DESIGN D12",
        "Choosing an embedder reads no weights and imports no model library; its name, model id and dimension are known at once.",
    ),
    Promise(
        "embedding:by-name",
        "DESIGN D11",
        "An embedder is chosen by name; an unknown name or a dimension that is not the model's is an error that lists what is known.",
    ),
    Promise(
        "embedding:missing-package",
        "DESIGN D12, issue (Embedding)",
        "A model whose package is not installed says how to install it.",
    ),
    Promise(
        "embedding:unit-vectors",
        "ports.Embedder",
        "Vectors are float32 rows of unit length and of the named dimension.",
    ),
    Promise(
        "embedding:meaning", "issue (Embedding)", "A paraphrase without common words is closer than an unrelated text."
    ),
    Promise("embedding:batch-invariant", "issue (Embedding)", "A text has one vector, whatever else is in the batch."),
    Promise(
        "embedding:any-text",
        "issue (Embedding)",
        "Every text has a vector, the empty one, lone surrogates and texts beyond the model's length included.",
    ),
    Promise("embedding:threads", "issue (Bank: thread-safe)", "Several threads share one model that is loaded once."),
    Promise(
        "embedding:vocabulary",
        "issue (Choice of models)",
        "The shipped vocabulary is the published one and gives reference token ids.",
    ),
    Promise(
        "embedding:graph",
        "docs/decisions/0002",
        "The encoder graph in the package agrees with the model's own floating-point graph and gives the vectors that were recorded.",
    ),
    Promise(
        "embedding:hash",
        "issue (Choice of models)",
        "Weights run only when their sha256 is the published one; the check is made once per file and repeated when it changed.",
    ),
    Promise(
        "embedding:onnx-folder",
        "issue (Choice of models)",
        "A local folder with model.onnx and tokenizer.json is an embedder; its pooling is part of the model id.",
    ),
    Promise(
        "embedding:model-error",
        "errors.ModelError",
        "A model that gives something that is no vector is an error, never a stored vector.",
    ),
    Promise(
        "embedding:remote",
        "DESIGN D11",
        "An OpenAI-compatible endpoint is asked in batches; vectors come back in the order of the texts, of unit length; no proxy stands before one on this machine.",
    ),
    Promise(
        "embedding:remote-dimension",
        "DESIGN D11",
        "Remote vectors of up to 3072 dimensions are accepted; any other than the one set is refused.",
    ),
    Promise(
        "embedding:remote-retry",
        "issue (Embedding)",
        "429, 5xx and broken connections are tried three times in all with growing waits; a refusal is not repeated.",
    ),
    Promise(
        "embedding:remote-answer", "errors.ModelError", "A malformed answer of an endpoint is an error with a hint."
    ),
    Promise("embedding:remote-key", "issue (Hygiene)", "The endpoint's key is in no name, representation or error."),
    Promise(
        "embedding:remote-arguments",
        "errors.ConfigurationError",
        "Unusable URLs, dimensions, keys and timeouts are refused at once, without showing secrets.",
    ),
    Promise(
        "testing:hashing-embedder",
        "issue (Embedding)",
        "HashingEmbedder is a deterministic stand-in for tests that no name reaches.",
    ),
    Promise("testing:frozen-clock", "DESIGN section 3", "FrozenClock moves only when told to."),
)
