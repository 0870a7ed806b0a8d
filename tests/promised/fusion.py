"""Words, fusion, the floor and their evaluation."""

from __future__ import annotations

from promised.promise import Promise

FUSION: tuple[Promise, ...] = (
    Promise(
        "search:identifiers",
        "issue / DESIGN D13",
        "An identifier is found by its parts and by itself, in camel, snake, kebab, dotted and path form.",
    ),
    Promise(
        "search:every-script", "issue", "Text of any script is findable, also where words are not separated by spaces."
    ),
    Promise(
        "search:query-terms",
        "spec/engines_models, lexical leg",
        "A query is asked by its telling words, in order, once, at most 64; stop words only when there is nothing else.",
    ),
    Promise(
        "search:analysis-total",
        "issue",
        "Any text becomes plain words that the text index accepts, in time linear in its length.",
    ),
    Promise(
        "fusion:total",
        "DESIGN D13",
        "Any numbers of the legs give one ranking by falling relevance in [0, 1], independent of the order of the input.",
    ),
    Promise("fusion:legs-shown", "issue", "Every hit shows its rank and score in each leg that knows it."),
    Promise(
        "fusion:query-dependent",
        "DESIGN D13",
        "How much words count depends on the query: coverage of its rare words and how far the best hit stands out.",
    ),
    Promise(
        "floor:unrelated",
        "issue",
        "Distant memories, and those that share one common word of a longer query, are not shown, in banks of any size.",
    ),
    Promise("floor:exact-identifier", "issue", "The only mention of an identifier is found whatever its cosine."),
    Promise("floor:related", "issue", "A paraphrase that shares no word is shown."),
    Promise(
        "floor:per-model",
        "DESIGN D11 / D13",
        "Cosines are read by the family of the embedding model; an unknown one hides less.",
    ),
    Promise("floor:monotone", "DESIGN D13", "A closer memory is never less relevant."),
    Promise("evaluation:measures", "DESIGN D13", "nDCG, recall and the bootstrap interval have their known values."),
    Promise("evaluation:real-store", "DESIGN D13", "The evaluation asks the three legs of a real store."),
    Promise("evaluation:tables", "issue", "The evaluation names every leg, fusion and floor."),
    Promise(
        "evaluation:halves",
        "issue",
        "Halves and samples of a set are fixed by hash, unrelated queries come from other domains.",
    ),
    Promise(
        "evaluation:absent-data",
        "shared data",
        "Without the data folder the evaluation says so and measures the standard library.",
    ),
)
