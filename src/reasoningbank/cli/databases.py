"""``rbank database init``: a PostgreSQL database for the banks of many tenants."""

from __future__ import annotations

import click

from reasoningbank.cli.call import Call, command
from reasoningbank.cli.output import print_json, print_note, print_text


@command(
    "init",
    "Make the schema and the role for banks in PostgreSQL.",
    click.Argument(["admin_url"], metavar="ADMIN_URL"),
    click.Option(["--new-password"], is_flag=True, help="Give a role that is there already a new password."),
    click.Option(
        ["--dimension"],
        type=int,
        default=384,
        show_default=True,
        help="The length of the vectors that get a graph of pgvector, where the server has that.",
    ),
)
def init(call: Call, *, admin_url: str, new_password: bool, dimension: int) -> None:
    """Prepare a PostgreSQL database for banks, or bring it up to date, and print the URL to open banks with.

    ADMIN_URL is postgresql://USER@HOST/DATABASE of a user who may make roles and schemas; its password may be in
    PGPASSWORD or ~/.pgpass instead. The role that is made for banks owns nothing and sees the rows of one tenant at a
    time. Its password is printed when it is made, and never again. Where the server has pgvector 0.8 or newer, tables
    for an index of vectors are made too; ?vectors=pgvector in the URL uses them.
    """
    from reasoningbank.operations.json import to_json
    from reasoningbank.settings import load_settings
    from reasoningbank.storage.postgres_schema import prepare_database

    call.owner(load_settings())
    found = prepare_database(admin_url, new_password=new_password, dimension=dimension)
    if call.as_json:
        print_json(to_json(found))
        return
    print_text(found.url)
    print_note(f"An index of vectors in the database: {found.vectors}.")
    if not found.made:
        print_note(f"The role {found.role} was there already; its password stays. --new-password gives another.")
