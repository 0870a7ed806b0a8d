"""The domain rules and every store."""

from __future__ import annotations

from promised.promise import Promise

STORAGE: tuple[Promise, ...] = (
    Promise(
        "storage:round-trip",
        "issue 2 Store; spec/contextd rows 18, 19, 26",
        "Every field of a memory comes back as it was stored, unicode, tags, provenance and microseconds included.",
    ),
    Promise(
        "storage:paging",
        "seed 004 ListMemories, Count",
        "Pages follow the order of storing; limit 0 means all; beyond the end is empty; counts agree.",
    ),
    Promise(
        "storage:not-found",
        "seed 004 ErrMemoryNotFound",
        "Every verb on an unknown memory raises MemoryNotFound and changes nothing.",
    ),
    Promise(
        "storage:update",
        "issue 2 Store",
        "An update replaces the memory and only what it names; earlier versions are kept on wish.",
    ),
    Promise(
        "storage:erase",
        "DESIGN D1, issue 2 Store",
        "Deleting a memory removes its text, vectors, tags, signals, counts, links, deliveries and versions.",
    ),
    Promise(
        "storage:refused-write",
        "DESIGN D1",
        "A refused write changes nothing, even when the caller catches its error and the transaction goes on.",
    ),
    Promise(
        "storage:filters",
        "issue 2 Recall",
        "Every filter means the same in pages, counts, both dense legs and the lexical leg.",
    ),
    Promise(
        "storage:filter-inside",
        "issue 2 Recall; spec/contextd 6.10",
        "Filters are applied inside the query: a top-k is never starved by what is filtered away.",
    ),
    Promise(
        "storage:archived-hidden",
        "spec/contextd row 23",
        "Archived and quarantined memories are not found unless they are asked for.",
    ),
    Promise(
        "storage:dense-exact",
        "DESIGN D3",
        "The nearest memories are exactly those of a full comparison, also after updates and deletions.",
    ),
    Promise(
        "storage:ties",
        "DESIGN section 5",
        "Equal scores are ordered oldest first, also where the limit cuts through them.",
    ),
    Promise(
        "storage:similarities",
        "seed 004 GetMemoryVector",
        "Similarities are inner products of what is stored; a stored vector comes back to the bit.",
    ),
    Promise(
        "storage:lexical",
        "issue 2 Recall",
        "The lexical leg finds only what matches, counts every term, and reads no query language.",
    ),
    Promise(
        "storage:lexical-current",
        "issue 2 Recall",
        "A word searched before it was stored is found as soon as it is stored.",
    ),
    Promise(
        "storage:model",
        "DESIGN D11",
        "Vectors of another model or dimension are refused with ModelMismatch, in writes and queries.",
    ),
    Promise(
        "storage:re-embed",
        "DESIGN D11",
        "A bank that forgets its vectors takes those of another model and never meets the old ones again.",
    ),
    Promise(
        "storage:finite",
        "spec/engineering B.2 Fuzz",
        "A vector with NaN or infinity is refused, in writes and in queries.",
    ),
    Promise(
        "storage:signals",
        "seed 004 SignalStore",
        "Signals come back whole, oldest first, strictly newer than asked; none without weight, none twice.",
    ),
    Promise(
        "storage:once", "DESIGN D5", "Evidence counts once per memory, type and session, also after it was rolled up."
    ),
    Promise(
        "storage:roll-up",
        "seed 000 FR-005c; DESIGN D4",
        "A roll-up moves what is older than the cutoff and conserves all evidence to the billionth.",
    ),
    Promise(
        "storage:aggregates",
        "seed 004 StoreAggregate, GetAggregate",
        "Counts are zero until something was rolled up or imported, and are replaced as a whole.",
    ),
    Promise(
        "storage:check",
        "issue 2 doctor",
        "A check names every memory whose confidence does not follow from its evidence, and nothing else.",
    ),
    Promise(
        "storage:weights",
        "seed 004 StoreProjectWeights; issue 2 Confidence",
        "Weights start at the priors; every change is kept with its time and cause.",
    ),
    Promise(
        "storage:recalls",
        "issue 2 Recall",
        "What a search delivered is read back newest first with ranks, relevance, legs and tokens.",
    ),
    Promise("storage:links", "issue 2 Store", "A relation between memories is stored once and seen from both ends."),
    Promise(
        "storage:jobs",
        "DESIGN section 2 Job",
        "A job waits once per kind and key, is due in order, and ends when it is finished.",
    ),
    Promise("storage:atomic", "DESIGN D1", "An exception inside a transaction leaves no trace of any of its writes."),
    Promise(
        "storage:isolation", "DESIGN D1", "A transaction sees its own writes; nobody else sees them before it ends."
    ),
    Promise(
        "storage:transaction-ends",
        "DESIGN D2",
        "A transaction cannot be used after its end, so no write escapes the lock.",
    ),
    Promise(
        "storage:threads",
        "issue 2 Bank thread-safe",
        "No write of eight threads is lost and a shared count misses none.",
    ),
    Promise(
        "storage:closed", "issue 2 Bank", "A closed store raises StoreClosed from every method; closing twice is fine."
    ),
    Promise(
        "storage:backup",
        "issue 2 Bank backup, restore",
        "A restored backup is the bank of its time; one that is damaged or of another scope is refused.",
    ),
    Promise(
        "storage:durable",
        "issue 2 Store; spec/contextd row 39",
        "Everything that was written is there when the place is opened again.",
    ),
    Promise("storage:memory-shared", "issue 2 Store", "memory://NAME is one place for the whole process."),
    Promise("storage:memory-no-file", "DESIGN D18", "A bank of memory:// writes no file, whatever is done with it."),
    Promise(
        "storage:memory-copies",
        "DESIGN D18",
        "A backup of a bank in memory is restored into a file, and the other way round.",
    ),
    Promise(
        "storage:memory-threads",
        "DESIGN D18",
        "While a transaction of memory:// is open, other threads read what was committed last, without waiting.",
    ),
    Promise(
        "storage:lock-step",
        "DESIGN section 5; spec/engineering B.2",
        "SQLite and a naive model give the same answers to the same random operations.",
    ),
    Promise(
        "isolation:storage",
        "DESIGN D9; issue 2 isolation",
        "No adversarial tenant or project name reaches into another scope's bank.",
    ),
    Promise("isolation:scopes", "DESIGN D9", "A tenant is shown its own scopes only, by exact name."),
    Promise("belief:constants", "seed 000, seed 004 Constants", "The thresholds are 0.7, 0.8 and 0.6."),
    Promise("belief:initial", "DESIGN D4", "A memory without evidence is believed at exactly its initial confidence."),
    Promise("belief:uniform", "seed 004 NewMemoryConfidence", "A prior of 0.5 is Beta(1, 1)."),
    Promise(
        "belief:praise-never-hides",
        "DESIGN D4; spec/contextd 0.1",
        "A helpful rating raises a recorded memory above 0.8, an unhelpful one lowers it.",
    ),
    Promise(
        "belief:monotone", "DESIGN D4", "A positive signal never lowers the confidence, a negative one never raises it."
    ),
    Promise("belief:order-free", "DESIGN D4", "The order of evidence does not matter, to the last bit."),
    Promise("belief:roll-up-neutral", "DESIGN D4", "Rolling up any part of the evidence changes no confidence."),
    Promise("belief:replay", "DESIGN D4", "The stored confidence equals the one replayed from the log."),
    Promise(
        "belief:golden",
        "spec/contextd 1.4",
        "compute_confidence with prior 0.5 reproduces every golden value of the seed.",
    ),
    Promise(
        "belief:interval",
        "DESIGN section 2 Belief",
        "The 90 % interval lies in [0, 1], narrows with evidence, and its lower end is the lower bound.",
    ),
    Promise(
        "belief:validation",
        "seed 004 ErrInvalidConfidence",
        "A confidence is a number from 0 to 1; NaN is refused; evidence is never negative.",
    ),
    Promise(
        "belief:beta",
        "spec/engineering C.7 statistics",
        "The Beta distribution and its quantile agree with closed forms, symmetries and SciPy.",
    ),
    Promise("weights:priors", "seed 000 FR-005a", "The priors are 7:3, 5:5 and 5:5."),
    Promise("weights:normalised", "spec/contextd 1.4", "The three weights sum to one whatever was learned."),
    Promise("weights:frozen", "DESIGN D4", "What a project learns later never changes the worth of earlier evidence."),
    Promise(
        "weights:learning",
        "DESIGN D5; seed 000 FR-005b",
        "A rating credits right and debits wrong predictions, positive and negative; explicit weights never change.",
    ),
    Promise(
        "memory:defaults",
        "seed 004 NewMemory; DESIGN D4",
        "A new memory is active, believed at 0.8, immutable, and has an id and times with a zone.",
    ),
    Promise(
        "memory:validation",
        "seed 004 Validate and errors",
        "Every broken rule has an error of its own with a hint, named in the seed's order.",
    ),
    Promise(
        "memory:bounds",
        "issue 2 Hygiene",
        "Lengths are bounded with a clear error; the longest allowed texts are allowed.",
    ),
    Promise(
        "memory:ids",
        "issue 2 MCP server",
        "Ids with hyphens, capitals and spaces work; new ids are UUIDv7 and sort by time.",
    ),
    Promise(
        "memory:outcome",
        "issue 2 MCP server",
        "An outcome that is neither success nor failure is never taken for a success.",
    ),
    Promise(
        "memory:confidence",
        "seed 004 ErrInvalidConfidence; spec/contextd row 4",
        "No confidence has a hidden meaning and none lies outside 0 and 1.",
    ),
    Promise(
        "memory:fingerprint",
        "issue 2 Interface",
        "Texts have one fingerprint exactly when they are the same up to case, space and punctuation.",
    ),
    Promise(
        "scope:required", "DESIGN D9; seed 000 ErrMissingTenant", "There is no scope without a tenant and a project."
    ),
    Promise("scope:names", "DESIGN D9", "Names are compared exactly; one that cannot be kept faithfully is refused."),
    Promise(
        "scope:directory", "issue 2 Store", "Different names never share a directory, and every directory name is safe."
    ),
)
