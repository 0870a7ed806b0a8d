"""What every command shares: the bank it works on and the way it answers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from reasoningbank.errors import MissingTenantError

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.settings import Settings
    from reasoningbank.types.scope import Membership

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_SHARED = ("url", "tenant", "project", "team", "org", "as_json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The options that hold for every command.

    Attributes:
        url: Where banks live; None for the configured place.
        tenant: The owner; None for the configured one, else the local user.
        project: The project; None for the configured one, else derived from the working directory.
        team: The team it belongs to; None for the configured one.
        org: The org it belongs to; None for the configured one.
        as_json: Whether the answer is one JSON object.
    """

    url: str | None = None
    tenant: str | None = None
    project: str | None = None
    team: str | None = None
    org: str | None = None
    as_json: bool = False

    def owner(self, settings: Settings) -> str:
        """The tenant of this call: the option, the configured one, else the local user (DESIGN D9)."""
        from reasoningbank.settings import local_tenant

        return self.tenant if self.tenant is not None else settings.tenant or local_tenant()

    def membership(self, settings: Settings) -> Membership:
        """The team and org of this call: the options, else the configured ones."""
        from reasoningbank.types.scope import Membership

        return Membership(
            team=settings.team if self.team is None else self.team, org=settings.org if self.org is None else self.org
        )

    def open_bank(self, *, session: str | None = None) -> Bank:
        """Opens the bank of this call.

        Raises:
            BankError: When the scope, a setting or the store is not usable.
        """
        from reasoningbank.bank import Bank
        from reasoningbank.settings import load_settings

        settings = load_settings()
        return Bank.open(
            self.url,
            tenant=self.owner(settings),
            project=self.project,
            team=self.team,
            org=self.org,
            settings=settings,
            session=session,
        )


def scope_options(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Adds ``--url``, ``--tenant``, ``--project``, ``--team`` and ``--org``."""
    project = click.option("--project", metavar="P", help="Project. Default: git remote and path, else the directory.")
    return _tenant_options(project(function))


def _tenant_options(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Adds ``--url``, ``--tenant``, ``--team`` and ``--org``."""
    url = click.option("--url", metavar="URL", help="sqlite:///PATH of a directory or a .db file.")
    tenant = click.option(
        "--tenant", metavar="T", help="Owner of the bank. Default: REASONINGBANK_TENANT, else the user."
    )
    team = click.option("--team", metavar="TEAM", help="Team of the project. Default: REASONINGBANK_TEAM.")
    org = click.option("--org", metavar="ORG", help="Org of the project. Default: REASONINGBANK_ORG.")
    return url(tenant(team(org(function))))


def bank_command(
    name: str, summary: str, *, own_project: bool = False
) -> Callable[[Callable[Concatenate[Call, _Arguments], None]], click.Command]:
    """Makes a command of a function that takes the Call first; adds ``--json`` and the scope options after it.

    With ``own_project`` the option ``--project`` is left to the command, which means something else by it.

    A scope option after the command wins over the same option before it. A tenant that is given and blank is refused
    before the command does anything.
    """

    def decorate(function: Callable[Concatenate[Call, _Arguments], None]) -> click.Command:
        shared = [name for name in _SHARED if not (own_project and name == "project")]

        @functools.wraps(function)
        def run(call: Call, /, **options: Any) -> None:
            given = {key: value for key in shared if (value := options.pop(key)) not in {None, False}}
            call = replace(call, **given)
            if call.tenant is not None and not call.tenant.strip():
                raise MissingTenantError("no tenant: every operation belongs to one tenant")
            function(call, **options)  # type: ignore[call-arg]  # click passes what the function's options declare

        json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
        options = _tenant_options if own_project else scope_options
        command = click.command(name, short_help=summary)(json_option(options(click.pass_obj(run))))
        command.params.sort(key=lambda parameter: parameter.name in _SHARED)
        return command

    return decorate
