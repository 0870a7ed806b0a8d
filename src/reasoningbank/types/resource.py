"""The seam at which a program calls a bank: every public method of a resource checks its arguments there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from reasoningbank.types.annotation import Checks

Checked = TypeVar("Checked", bound=type)


def checked(resource: Checked) -> Checked:
    """Let every public method of a class refuse arguments of another type than it is annotated with.

    The annotations are read at the first call of a method, so that an import costs nothing.
    """
    for name, method in [*vars(resource).items()]:
        if name.startswith("_"):
            continue
        if isinstance(method, classmethod):
            setattr(resource, name, classmethod(_checking(method.__func__)))
        elif isinstance(method, FunctionType):
            setattr(resource, name, _checking(method))
    return resource


def _checking(method: Callable[..., Any]) -> Callable[..., Any]:
    checks: Checks | None = None

    @functools.wraps(method)
    def call(*given: Any, **named: Any) -> Any:
        nonlocal checks
        if checks is None:
            from reasoningbank.types.annotation import Checks

            checks = Checks(method)
        if len(given) > 1:
            given = checks.positional(given)
        for name, value in named.items():
            check = checks.named.get(name)
            if check is not None:
                named[name] = check(value, name)
        return method(*given, **named)

    return call
