"""What every command shares: the bank it works on and the options that name it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from reasoningbank.cli.agents import check_personal
from reasoningbank.errors import MissingTenantError, NotFound

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.settings import Settings
    from reasoningbank.types.scope import Membership

_KNOWN = 10
"""Most projects that are named when one is not known."""
_SHARED: tuple[tuple[str, str, str], ...] = (
    (
        "url",
        "URL",
        "sqlite:///PATH of a directory or a .db file (an absolute path has a fourth slash), or postgresql://...",
    ),
    ("tenant", "T", "Owner of the bank. Default: REASONINGBANK_TENANT, else the user."),
    ("project", "P", "Project. Default: git remote and path, else the directory."),
    ("team", "TEAM", "Team of the project. Default: REASONINGBANK_TEAM."),
    ("org", "ORG", "Org of the project. Default: REASONINGBANK_ORG."),
)


def shared_options(*, json: bool = True, project: bool = True) -> list[click.Parameter]:
    """Return ``--url``, ``--tenant``, ``--project``, ``--team``, ``--org`` and ``--json``."""
    options: list[click.Parameter] = [
        click.Option([f"--{name}"], metavar=word, help=said)
        for name, word, said in _SHARED
        if project or name != "project"
    ]
    return (
        [*options, click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object.")]
        if json
        else options
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The options that hold for every command.

    Attributes:
        url: Where banks live; None for the configured place.
        tenant: The owner; None for the configured one, else the local user.
        project: The project; None for the configured one, else derived from the working directory.
        team: The team it belongs to; None for the configured one.
        org: The org it belongs to; None for the configured one.
        as_json: True when the answer is one JSON object.
    """

    url: str | None = None
    tenant: str | None = None
    project: str | None = None
    team: str | None = None
    org: str | None = None
    as_json: bool = False

    @classmethod
    def of(cls, context: click.Context, options: dict[str, Any], *, own_project: bool = False) -> Call:
        """Return the call of a command, and take its shared options out of the given ones.

        An option after the command wins over the same option before it.

        Raises:
            MissingTenantError: When a tenant is given and blank.
            EmptyProjectId, InvalidInput: When there can be no project of the name that is given.
        """
        names = [name for name, _, _ in _SHARED if not (own_project and name == "project")]
        given = {name: value for name in [*names, "as_json"] if (value := options.pop(name, None)) not in {None, False}}
        call = replace(context.find_object(cls) or cls(), **given)
        if call.tenant is not None and not call.tenant.strip():
            raise MissingTenantError("no tenant: every operation belongs to one tenant")
        if call.project is not None:
            from reasoningbank.safety.checks import project_name

            project_name(call.project)
        return call

    def owner(self, settings: Settings) -> str:
        """Return the tenant: the option, the configured one, else the local user (DESIGN D9)."""
        from reasoningbank.settings import local_tenant

        return self.tenant if self.tenant is not None else settings.tenant or local_tenant()

    def membership(self, settings: Settings) -> Membership:
        """Return the team and org: the options, else the configured ones."""
        from reasoningbank.types.scope import Membership

        return Membership(
            team=settings.team if self.team is None else self.team, org=settings.org if self.org is None else self.org
        )

    def open_bank(self, *, reads: bool = False, makes: bool = True) -> Bank:
        """Open the bank of this call.

        Args:
            reads: The command only reads: then a project without a bank is an empty one, and no file is made of it.
                What its team, its org and the tenant's other projects know is still found.
            makes: Whether the command stores something new, so that a project without a bank gets one; nothing else
                makes one. One that changes what is there is refused for a named project without a bank when another
                project of nearly the same name may be meant, else it finds an empty bank, too.

        Raises:
            NotFound: When the project that is named has no bank, and the command neither reads only nor makes one.
            BankError: When the scope, a setting or the store is not usable.
        """
        from reasoningbank.bank import Bank
        from reasoningbank.client_sessions import client_process, session_of
        from reasoningbank.settings import load_settings

        settings = load_settings()
        unknown = self._is_unknown(settings, refuse=not reads and not makes) if reads or not makes else False
        return Bank.open(
            self.url,
            session=session_of(settings.home, client_process()) or None,
            tenant=self.owner(settings),
            project=self.project,
            team=self.team,
            org=self.org,
            settings=settings,
            create=not reads and not unknown and (makes or self._has_bank(settings)),
            by_agent=False,
        )

    def _has_bank(self, settings: Settings) -> bool:
        """Return whether the project of this call, named or not, has a bank; asking makes none."""
        # Its import takes longer than all else that --help does here.
        from pathlib import Path

        from reasoningbank.settings import project_of
        from reasoningbank.storage import open_storage
        from reasoningbank.types.scope import Scope

        name = (settings.project or project_of(Path.cwd())) if self.project is None else self.project
        storage = open_storage(self.url if self.url is not None else settings.url or None, home=settings.home)
        return storage.has(Scope(tenant=self.owner(settings), project=name))

    def names_no_bank(self) -> bool:
        """Return whether the project that is named has no bank."""
        from reasoningbank.settings import load_settings

        return self._known_beside(load_settings()) is not None

    def _is_unknown(self, settings: Settings, *, refuse: bool) -> bool:
        """Return whether the project that is named has no bank, and say so with the names of those that do.

        Raises:
            NotFound: When that is to be refused, and one of nearly the same name has one.
        """
        from reasoningbank.cli.output import print_note

        known = self._known_beside(settings)
        if known is None or self.project is None:
            return False
        from difflib import get_close_matches

        meant = get_close_matches(self.project, known, n=3)
        if refuse and meant:
            raise NotFound(
                f"there is no bank for project {self.project[:80]!r}", hint=f"Did you mean {' or '.join(meant)}?"
            )
        close = meant or known[:_KNOWN]
        if close:
            print_note(f"There is no bank for project {self.project[:80]!r} yet. Known: {', '.join(close)}.")
        return True

    def _known_beside(self, settings: Settings) -> list[str] | None:
        """Return the owner's projects that have a bank, when the one that is named has none; None otherwise."""
        from reasoningbank.storage import open_storage
        from reasoningbank.types.scope import Scope

        if self.project is None:
            return None
        scope = Scope(tenant=self.owner(settings), project=self.project)
        storage = open_storage(self.url if self.url is not None else settings.url or None, home=settings.home)
        if storage.has(scope):
            return None
        return [each.project for each in storage.scopes(scope.tenant) if each.level == "project"]


def _full_name() -> str:
    """Return the command that runs, of one word or of two, without the name of the program."""
    words, context = [], click.get_current_context()
    while context.parent is not None:
        words.append(context.info_name or "")
        context = context.parent
    return " ".join(reversed(words))


def command(
    name: str, summary: str, *params: click.Parameter, own_project: bool = False
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of a function that takes the Call first and the other options by name.

    Args:
        name: Its name.
        summary: Its line in ``rbank --help``.
        params: Its arguments and options.
        own_project: The command means something else by ``--project``.
    """

    def decorate(function: Callable[..., None]) -> click.Command:
        def run(**options: Any) -> None:
            check_personal(_full_name(), [key for key, value in options.items() if value])
            function(Call.of(click.get_current_context(), options, own_project=own_project), **options)

        shared = shared_options(project=not own_project)
        return click.Command(name, callback=run, params=[*params, *shared], help=function.__doc__, short_help=summary)

    return decorate
