"""Language models."""

from __future__ import annotations

from promised.promise import Promise

LLM: tuple[Promise, ...] = (
    Promise(
        "llm:reading",
        "issue (12 malformed answers); DESIGN D8",
        "A model's answer is read through fences, prefixes, thoughts, trailing prose and extra keys; truncated, mistyped, incomplete, contradicting, empty or list answers are refused with what is wrong and where, and no value is converted or invented.",
    ),
    Promise(
        "llm:reading-bounded",
        "DESIGN D8",
        "Answers over 200,000 characters are refused, and hostile nesting costs under two seconds.",
    ),
    Promise(
        "llm:malformed-judge",
        "issue (12 malformed answers); spec/paper defects 6-8",
        "Each of twelve malformed answers is read by the judge or leaves the verdict unknown at 0.5; 'unsuccessful' is never a success.",
    ),
    Promise(
        "llm:malformed-distiller",
        "issue (12 malformed answers); spec/paper defects 12-14",
        "Each of twelve malformed answers is read by the distiller or refused whole; nothing of it becomes a lesson.",
    ),
    Promise(
        "llm:provider",
        "issue Three ways; DESIGN D7",
        "OpenAI, Anthropic, Google and any OpenAI-compatible server answer through one port, from threads and inside a running event loop, with their cost; a server without JSON schemas is asked in words.",
    ),
    Promise(
        "llm:provider-errors",
        "issue Three ways; DESIGN D8",
        "Every failure of a provider, a wrong key, an unknown model, a limit, a time-out, no network or garbage, is ModelUnavailable with a hint, without the key, and never another exception.",
    ),
    Promise(
        "llm:provider-retries",
        "issue Three ways (timeouts, retries)",
        "Rate limits, server errors and broken connections are tried four times in all with growing random waits or as Retry-After says; a refused key, an unknown model and a time-out are not tried again.",
    ),
    Promise(
        "llm:budget",
        "issue Three ways (a token budget per day that is never exceeded)",
        "A call that could exceed the day's tokens is refused before anything is sent; its upper bound is booked on disk before it and replaced by its real cost after it, across threads and processes.",
    ),
    Promise(
        "llm:budget-day",
        "issue Three ways (a token budget per day)",
        "Each UTC day has its own tokens; a clock that is set back gives none a second time.",
    ),
    Promise(
        "llm:budget-killed",
        "issue Three ways (never exceeded)",
        "Processes killed with kill -9 between booking and cost never let the day exceed its tokens; what they booked stays spent.",
    ),
    Promise(
        "llm:paid",
        "issue (an accidental paid call in tests is an error)",
        "With paid calls switched off, by setting or by no_paid_calls(), a call of a model that is not on this machine raises PaidCallRefused and sends nothing.",
    ),
    Promise(
        "llm:names",
        "DESIGN D7",
        "A language model is chosen by name; a wrong name, URL, key, timeout or budget is an error when it is opened, and the empty name is none.",
    ),
    Promise(
        "llm:key",
        "DESIGN D10",
        "The provider's key is in no log, also at the lowest level, and in no error, representation or span.",
    ),
    Promise(
        "llm:scripted",
        "issue (ScriptedModel is public)",
        "ScriptedModel replays answers, errors or functions in order or by prompt, remembers what it was asked, and says clearly when its script has no answer.",
    ),
    Promise(
        "llm:replay",
        "issue 3 (a local OpenAI-compatible server, in CI one that replays recorded answers)",
        "Any server that speaks OpenAI's chat completions can be the model: its answers come back word for word in the order of the prompts, and one that says it has no more is not asked again.",
    ),
    Promise(
        "telemetry:chat",
        "DESIGN 3 telemetry; GenAI semantic conventions",
        "Each call of a language model is one span and two metrics under the GenAI conventions, with its tokens and without content or key.",
    ),
    Promise(
        "settings:switch",
        "DESIGN 3 settings",
        "A switch is true, 1, yes, on or false, 0, no, off; anything else is an error.",
    ),
)
