"""Scopes: always named, compared exactly, and never sharing a file."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.errors import EmptyProjectId, InvalidInput, MissingTenantError
from reasoningbank.types.scope import MAX_NAME_LENGTH, Scope, directory_name
from storage.contract import ADVERSARIAL_NAMES

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60) | st.sampled_from(ADVERSARIAL_NAMES)


@promise(
    "scope:required",
    "There is no scope without a tenant and a project.",
    source="DESIGN D9; seed 000 ErrMissingTenant",
)
@promise("contextd:66")
@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u00a0\u3000"])
def test_there_is_no_scope_without_a_tenant_and_a_project(blank: str) -> None:
    with pytest.raises(MissingTenantError) as caught:
        Scope(tenant=blank, project="shop")
    assert caught.value.hint
    with pytest.raises(EmptyProjectId):
        Scope(tenant="acme", project=blank)
    with pytest.raises(MissingTenantError):
        Scope(tenant=blank, project=blank)


@promise(
    "scope:names", "Names are compared exactly; one that cannot be kept faithfully is refused.", source="DESIGN D9"
)
@pytest.mark.parametrize(
    "name", ["my-app", "My_App", "a/b", "..", "東京", "%", "x" * MAX_NAME_LENGTH, "\x00", " padded "]
)
def test_every_name_that_can_be_written_is_kept_exactly(name: str) -> None:
    scope = Scope(tenant=name, project=name)
    assert (scope.tenant, scope.project) == (name, name)


@promise("scope:names")
@pytest.mark.parametrize("name", ["x" * (MAX_NAME_LENGTH + 1), "lone \ud800", "\udfff"])
def test_a_name_that_cannot_be_kept_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"limit|Unicode"):
        Scope(tenant="acme", project=name)
    with pytest.raises(InvalidInput, match=r"limit|Unicode"):
        Scope(tenant=name, project="shop")


@promise("scope:names")
def test_names_that_look_alike_are_different_scopes() -> None:
    usable = [name for name in ADVERSARIAL_NAMES if name.strip()]
    assert len({Scope(tenant="acme", project=name) for name in usable}) == len(usable)
    assert Scope(tenant="a", project="b") != Scope(tenant="b", project="a")


@promise(
    "scope:directory",
    "Different names never share a directory, and every directory name is safe.",
    source="issue 2 Store",
)
def test_adversarial_names_get_directories_of_their_own() -> None:
    made = {name: directory_name(name) for name in ADVERSARIAL_NAMES}
    folded = [directory.lower() for directory in made.values()]
    assert len(set(folded)) == len(ADVERSARIAL_NAMES)


@promise("scope:directory")
@given(names)
def test_a_directory_name_is_safe_on_every_file_system(name: str) -> None:
    made = directory_name(name)
    assert re.fullmatch(r"([a-z0-9]+-)*[0-9a-f]{16}", made)
    assert len(made) <= 57
    assert made == directory_name(name)


@promise("scope:directory")
@given(names, names)
def test_different_names_never_share_a_directory(one: str, other: str) -> None:
    assert (directory_name(one) == directory_name(other)) == (one == other)


@promise("scope:directory")
def test_names_that_differ_in_one_character_never_share_a_directory() -> None:
    close = ["".join(pair) for pair in itertools.product("aA/_-. \u0430", repeat=3)]
    assert len({directory_name(name) for name in close}) == len(close)
