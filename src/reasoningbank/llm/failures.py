"""What went wrong with a provider, told without its words: those may quote the key or the text that was sent."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reasoningbank.errors import ModelUnavailable

_CODE = re.compile(r"[a-z]+(?:_[a-z]+)+")
_INSTALL = "Install it with `pip install 'reasoningbank[llm]'`."
_UNSENT = ("ConnectError", "ConnectTimeout")
_UNBILLED_STATUS = range(400, 500)
_REJECTED_STATUS = (400, 422)
_REQUEST_TIMEOUT = 408


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One attempt that brought no answer.

    Attributes:
        error: What the caller is told.
        transient: Whether a further attempt may succeed.
        unbilled: Whether it is certain that it cost nothing: it was never sent, or refused before any work.
        rejected: Whether the request itself was refused, as a server does that knows no JSON schemas.
        wait: Seconds that the provider asked to wait; None when it did not say.
    """

    error: ModelUnavailable
    transient: bool = False
    unbilled: bool = False
    rejected: bool = False
    wait: float | None = None


def failure(error: Exception, name: str, timeout: float) -> Failure:
    """What an exception of a provider's library means.

    Args:
        error: The exception; no text of it is repeated.
        name: The model's name as the user gave it.
        timeout: Seconds the attempt was allowed.
    """
    if isinstance(error, ImportError):
        return Failure(
            error=ModelUnavailable(f"{name} needs a package that is not installed.", hint=_INSTALL), unbilled=True
        )
    from pydantic_ai import exceptions

    status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else None
    what, hint, transient = _told(error, timeout)
    return Failure(
        error=ModelUnavailable(f"{name} {what}{_details(error, status)}.", hint=hint),
        transient=transient or status == _REQUEST_TIMEOUT,
        unbilled=status in _UNBILLED_STATUS or _never_sent(error) or isinstance(error, exceptions.UserError),
        rejected=status in _REJECTED_STATUS and not isinstance(error, exceptions.ModelContextWindowExceededError),
        wait=error.retry_after if isinstance(error, exceptions.ModelAPIError) else None,
    )


def _told(error: Exception, timeout: float) -> tuple[str, str, bool]:
    """What happened, what to do, and whether to try again by ourselves; the most special kinds first."""
    from pydantic_ai import exceptions as kinds

    table: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str, str, bool], ...] = (
        (kinds.ModelAuthenticationError, "refused the key", "Check llm_key (REASONINGBANK_LLM_KEY).", False),
        (
            kinds.ModelNotFoundError,
            "is not known there",
            "Check the model's name in llm, and that llm_url is the base of the API, usually ending in /v1.",
            False,
        ),
        (
            kinds.ModelContextWindowExceededError,
            "cannot read that much at once",
            "Choose a model with a longer context.",
            False,
        ),
        (
            kinds.ModelQuotaExceededError,
            "has no credit or quota left",
            "Top up the provider's account, or choose another model.",
            False,
        ),
        (
            kinds.ModelRateLimitError,
            "is at its rate limit",
            "Try again later; what was to be learned waits.",
            True,
        ),
        (
            (kinds.ModelRequestTimeout, kinds.ModelTimeoutError),
            f"did not answer within {timeout:g} s",
            "Raise llm_timeout, or choose a faster model.",
            False,
        ),
        (
            kinds.ModelConnectionError,
            "cannot be reached",
            "Check the network and llm_url, and that a local server is running.",
            True,
        ),
        (
            (kinds.ModelServerError, kinds.ModelUnavailableError),
            "is out of order at the moment",
            "Try again later; what was to be learned waits.",
            True,
        ),
        (
            kinds.ModelRequestRejectedError,
            "refused the request",
            "Check the key and the model's name; a model that cannot answer with JSON is refused too.",
            False,
        ),
        (kinds.ContentFilterError, "refused to speak about this text", "Choose another model.", False),
        (kinds.ModelHTTPError, "did not answer", "Check llm_url and what stands between here and there.", False),
        (
            (kinds.UnexpectedModelBehavior, kinds.ModelAPIError),
            "answered with something that is no completion",
            "Check that llm_url is the base of an OpenAI-compatible API, usually ending in /v1.",
            False,
        ),
        (kinds.UserError, "is not usable", "Check llm, and give its key as llm_key (REASONINGBANK_LLM_KEY).", False),
    )
    for kind, what, hint, transient in table:
        if isinstance(error, kind):
            return what, hint, transient
    return f"did not answer ({type(error).__name__})", "Check llm and llm_url with `rbank doctor`.", False


def _details(error: Exception, status: int | None) -> str:
    """HTTP status and the provider's own code, when that is plain words: a key is not."""
    code = getattr(error, "provider_error_code", None) or getattr(error, "provider_error_type", None)
    known = [f"HTTP {status}"] if status else []
    if isinstance(code, str) and len(code) <= 60 and _CODE.fullmatch(code):
        known.append(code)
    return f" ({', '.join(known)})" if known else ""


def _never_sent(error: BaseException | None) -> bool:
    while error is not None:
        if type(error).__name__ in _UNSENT:
            return True
        error = error.__cause__ or error.__context__
    return False
