"""Bodies of chat completions as servers send them, read into plain ones.

A text may come in parts, among them a model's thoughts; an answer may stand in the arguments of a call that nobody
offered; a usage may be half of one. What can be read is read, of any other body nothing is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from reasoningbank.llm.token_count import count_tokens

_READ_NAMES, _WRITTEN_NAMES = ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")
_SPOKEN = frozenset({"", "text", "output_text"})
"""Types of the parts that are said; others are thoughts, pictures or references."""
_NO_ANSWER = 400
_STATUSES = range(400, 600)


def plain_completion(body: Mapping[str, object], model: str) -> dict[str, object] | None:
    """Return a body with the one message that it holds, as the interface describes it; None when it holds none.

    Args:
        body: What was sent.
        model: The model's name where the body does not say it.
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        return None
    message = choice.get("message")
    if not isinstance(message, Mapping):
        message = {"content": choice.get("text", message)}
        if not isinstance(message["content"], str):
            return None
    text = answered_text(message)
    refusal = message.get("refusal")
    plain: dict[str, object] = {
        "id": _word(body.get("id")),
        "object": "chat.completion",
        "created": 0,
        "model": _word(body.get("model")) or model,
        "choices": [
            {
                "index": 0,
                "finish_reason": _word(choice.get("finish_reason")) or "stop",
                "message": {
                    "role": "assistant",
                    "content": text,
                    "refusal": refusal if isinstance(refusal, str) and refusal else None,
                },
            }
        ],
    }
    usage = body.get("usage")
    if isinstance(usage, Mapping):
        read, written = told_usage(usage, text)
        plain["usage"] = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return plain


def error_in(body: Mapping[str, object]) -> tuple[int, object] | None:
    """Return the status and the words of an error that came as a good answer; None when there is none."""
    error = body.get("error")
    if not error:
        return None
    code = error.get("code") if isinstance(error, Mapping) else None
    return (code if isinstance(code, int) and code in _STATUSES else _NO_ANSWER), error


def answered_text(message: Mapping[str, object]) -> str:
    """Return what a message says: its text without thoughts, and the arguments of the calls that it makes."""
    calls = message.get("tool_calls")
    single = message.get("function_call")
    made = [*(calls if isinstance(calls, list) else [calls]), {"function": single}]
    return "\n".join(part for part in (_said(message.get("content")), *map(_argument, made)) if part.strip())


def _said(content: object) -> str:
    if isinstance(content, list):
        return "".join(_spoken_parts(content))
    if isinstance(content, Mapping):
        return "".join(_spoken_parts([content])) if "text" in content else _as_json(content)
    return "" if content is None else str(content)


def _spoken_parts(parts: list[object]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping) and _word(part.get("type")) in _SPOKEN:
            text = part.get("text")
            value = text.get("value") if isinstance(text, Mapping) else text
            if isinstance(value, str):
                yield value


def _argument(call: object) -> str:
    function = call.get("function", call) if isinstance(call, Mapping) else None
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    if isinstance(arguments, str):
        return arguments
    return _as_json(arguments) if isinstance(arguments, Mapping) else ""


def _as_json(value: Mapping[str, object]) -> str:
    return json.dumps(dict(value), ensure_ascii=False)


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def used_tokens(body: Mapping[str, object]) -> int:
    """Return all tokens that a body reports, also one without an answer; 0 when it reports none."""
    usage = body.get("usage")
    return sum(told_usage(usage, "")) if isinstance(usage, Mapping) else 0


def told_usage(usage: Mapping[str, object], text: str) -> tuple[int, int]:
    """Return the tokens of prompt and answer that a server reports; 0 for what it does not report.

    Of a total alone the answer's share is counted by us: together they are what was reported. A total above both holds
    thoughts that the answer's share leaves out: they are the answer's.
    """
    read, written, total = (
        next((number for name in names if (number := _number(usage.get(name))) is not None), None)
        for names in (_READ_NAMES, _WRITTEN_NAMES, ("total_tokens",))
    )
    if read is not None and written is not None:
        return read, max(written, (total or 0) - read)
    if not total:
        return read or 0, written or 0
    if read is not None:
        return read, max(total - read, 0)
    written = min(count_tokens(text) if written is None else written, total)
    return total - written, written


def _number(value: object) -> int | None:
    """Return a count, also one that came as text or with a point; None when it is none."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= len("100000000000"):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
