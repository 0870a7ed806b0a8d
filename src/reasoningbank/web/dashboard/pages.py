"""What every page shares: templates, the headers that keep a browser safe, forms, and errors that say what to do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reasoningbank.errors import BankError, EmptyProjectId, InvalidInput, NotFound, PolicyError
from reasoningbank.mcp.browsers import HOME, Browsers, SignedIn, signed_in
from reasoningbank.web.dashboard.environment import STATIC as STATIC
from reasoningbank.web.dashboard.environment import page_environment
from reasoningbank.web.requests import PROJECT, TENANT, BankThreads, handled, status_of

if TYPE_CHECKING:
    from jinja2 import Environment

    from reasoningbank.bank import Bank
    from reasoningbank.mcp.banks import Banks
    from reasoningbank.settings import Settings

PageHandler = Callable[[Request], Awaitable[Response]]

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    ),
    "X-Content-Type-Options": "nosniff",
    # With no-referrer a browser would send "Origin: null" with a form.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""What a browser may do with a page: load what this server ships, and nothing that a stored text asks for."""
FORM = "application/x-www-form-urlencoded"
CSRF = "csrf"
_MOST_FIELDS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """What a page is asked for.

    Attributes:
        path: The parts of its path.
        query: The parameters of its address.
        form: The fields of the form that was sent, in their order; empty for a page that is only looked at.
    """

    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Sequence[tuple[str, str]] = ()

    def text(self, name: str) -> str:
        """Return a parameter of the address, or a field; empty when there is none."""
        return dict(self.form).get(name, self.query.get(name, "")).strip()

    def given(self, name: str) -> str | None:
        """Return a field as it was sent; None when it was not sent."""
        return dict(self.form).get(name)

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value of a field that may be there several times."""
        return tuple(value for key, value in self.form if key == name and value)

    def whole(self, name: str, default: int, *, most: int, least: int = 0) -> int:
        """Return a whole number between two others; the default for everything else."""
        text = self.text(name)
        if not text.isascii() or not text.isdigit() or len(text) > 9:
            return default
        return max(least, min(int(text), most))


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of an action: where the browser goes next, and what is told there."""

    to: str
    said: str


PageValues = Mapping[str, object]
"""What a template is given."""
Page = Callable[["Bank", PageRequest], PageValues]
FormAction = Callable[["Bank", PageRequest], Done]


class Dashboard:
    """The pages of a server.

    Args:
        banks: The banks.
        browsers: Who is signed in.
        settings: Of the server.
        owner: The server's own tenant, which alone is shown what clients of this machine say.
    """

    def __init__(self, banks: Banks, browsers: Browsers, settings: Settings, owner: str) -> None:
        self.banks = banks
        self.browsers = browsers
        self.settings = settings
        self.owner = owner
        self.desk = BankThreads(banks)

    @cached_property
    def _templates(self) -> Environment:
        environment = page_environment()
        environment.globals["HOME"] = HOME
        environment.globals["asset"] = _asset
        return environment

    def page(self, template: str, section: str, page: Page) -> PageHandler:
        """Return the handler that shows a page of the bank.

        Args:
            template: Its template.
            section: The entry of the navigation that it belongs to.
            page: Reads what it shows.
        """

        async def shown(request: Request, person: SignedIn) -> Response:
            asked = PageRequest(path=request.path_params, query=dict(request.query_params))
            found = await self.desk.use(
                request, lambda bank: page(bank, asked), self._project(request), reads=True, person=True
            )
            return self.render(request, template, person, {"section": section, "asked": asked, **found})

        return self._answering(shown)

    def action(self, action: FormAction, *, makes: bool = False) -> PageHandler:
        """Return the handler of a form that changes something, and then leads to a page that tells it."""

        async def done(request: Request, person: SignedIn) -> Response:
            asked = await form_of(request)
            if not person.carries(asked.text(CSRF)):
                raise PolicyError(
                    "the form does not come from a page of this sign-in",
                    hint="Open the page again and send it once more.",
                )
            result = await self.desk.use(
                request, lambda bank: action(bank, asked), self._project(request), makes=makes, admin=True, person=True
            )
            person.note(result.said)
            return RedirectResponse(self.address(request, result.to), 303, HEADERS)

        return self._answering(done)

    def address(self, request: Request, path: str, **query: object) -> str:
        """Return the address of a page below ``/dashboard``, of the same project.

        Args:
            request: The page that leads there.
            path: Its path with what follows a question mark; empty for the overview.
            query: Further parameters; empty ones are left out.
        """
        place, _, given = path.partition("?")
        named = request.query_params.get(PROJECT, "")
        values = {PROJECT: named} | dict(parse_qsl(given)) | {name: str(value) for name, value in query.items()}
        text = urlencode({name: value for name, value in values.items() if value})
        return f"{HOME}{f'/{place}' if place else ''}{f'?{text}' if text else ''}"

    def render(
        self, request: Request, template: str, person: SignedIn | None, values: PageValues, status: int = 200
    ) -> HTMLResponse:
        """Return a page."""
        shared: dict[str, object] = {
            "section": "",
            "person": person,
            "csrf": person.csrf if person else "",
            "notes": person.told() if person else [],
            "project": self._shown_project(request) if person else "",
            "projects": self.banks.existing(str(request.scope[TENANT])) if person else [],
            "url": lambda path="", **query: self.address(request, path, **query),
        }
        text = self._templates.get_template(template).render({**shared, **values})
        return HTMLResponse(text, status, HEADERS)

    def refused(self, request: Request, error: BankError, person: SignedIn | None) -> Response:
        """Return an error as a page that says what to do next."""
        status = status_of(error)
        values = {"message": str(error), "hint": error.hint, "asked": PageRequest(), "status": status}
        try:
            return self.render(request, "error.html", person, values, status)
        except BankError:  # the error is of the banks, so the page cannot list them
            return self.render(request, "error.html", None, values, status)

    def _project(self, request: Request) -> str | None:
        """Return the project that a page is of: the named one, None for the server's, else one that the tenant has."""
        named = request.query_params.get(PROJECT)
        if named:
            return named
        try:
            self.banks.project(None)
        except EmptyProjectId:
            return self.banks.any_project(str(request.scope[TENANT]))
        return None

    def _shown_project(self, request: Request) -> str:
        try:
            return self._project(request) or self.banks.project(None)
        except BankError:
            return ""

    def _answering(self, handler: Callable[[Request, SignedIn], Awaitable[Response]]) -> PageHandler:
        """Return the handler for those who are signed in; others are asked to, and errors become pages."""

        async def answer(request: Request) -> Response:
            person = signed_in(request.scope)
            if person is None:
                return RedirectResponse(f"{HOME}/login", 303, HEADERS)
            try:
                return await handled(lambda asked: handler(asked, person), request)
            except BankError as error:
                return self.refused(request, error, person)

        return answer


async def form_of(request: Request) -> PageRequest:
    """Return the form that was sent.

    Raises:
        InvalidInput: When it is none.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != FORM:
        raise InvalidInput("this is no form of the dashboard", hint="Send it from its page.")
    try:
        text = (await request.body()).decode()
        fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise InvalidInput("the form cannot be read", hint="Send it from its page, in UTF-8.") from error
    # Browsers end lines with CR and LF, stored texts with LF alone.
    sent = [(name, value.replace("\r\n", "\n")) for name, value in fields]
    return PageRequest(path=request.path_params, query=dict(request.query_params), form=sent)


def no_page(path: str) -> NotFound:
    """Return the error of a path that has no page."""
    return NotFound(f"there is no page {path[:200]}", hint="The overview leads to every page.")


def _asset(name: str, _known: dict[str, str] = {}) -> str:  # noqa: B006 - kept for the life of the process
    """Return the address of a shipped file; it changes when the file does, so a browser may keep it for ever."""
    if name not in _known:
        _known[name] = sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"{HOME}/static/{name}?v={_known[name]}"
