"""Dependencies that go together in no way: each resolver's words name what stands against what."""

from __future__ import annotations

import pytest

from promises import promise
from reasoningbank.sessions.signatures import is_near, signature_of

RANGE = """\
Resolving dependencies... (0.3s)

The current project's supported Python range (>=3.8,<4.0) is not compatible with some of the required packages Python \
requirement:
  - {0} requires Python >=3.9, so it will not be installable for Python >=3.8,<3.9

Because shop depends on {0} (^2.0) which requires Python >=3.9, version solving failed.

  - Check your dependencies Python requirement: The Python requirement can be specified via the `python` properties"""
PUBGRUB = """Because no versions of {0} match >2.31,<3.0
 and shop depends on urllib3 (^2.2), {0} is forbidden.
So, because shop depends on {0} (^2.31), version solving failed."""
UV = """  \u00d7 No solution found when resolving dependencies:
  \u2570\u2500\u25b6 Because only {0}<=2.0 is available and your project depends on {0}>=3, we can conclude that your
      project's requirements are unsatisfiable."""
BUNDLER = """Could not find compatible versions

Because every version of rails depends on {0} >= 2.2.4
  and Gemfile depends on {0} = 2.0,
  version solving has failed."""
CONDA = "PackagesNotFoundError: The following packages are not available from current channels:\n\n  - {0}=1.2\n"
MAMBA = """LibMambaUnsatisfiableError: Encountered problems while solving:
  - package {0}-2.0-py39 requires python >=3.9, but none of the providers can be installed"""
PIP = """ERROR: Ignored the following versions that require a different python version: 1.0 Requires-Python >=3.9
ERROR: Could not find a version that satisfies the requirement {0}==2.1 (from versions: 1.0)
ERROR: No matching distribution found for {0}==2.1"""
PIP_CONFLICT = """\
ERROR: Cannot install shop and {0}==2.2.1 because these package versions have conflicting dependencies.

The conflict is caused by:
    The user requested {0}==2.2.1
    requests 2.20.0 depends on {0}<1.25

ERROR: ResolutionImpossible: for help visit the documentation"""
NODE = """npm error code EBADENGINE
npm error engine Unsupported engine
npm error engine Not compatible with your version of node/npm: {0}@6.0.0
npm error notsup Required: {{"node":">=20"}}"""
TARGET = "npm error code ETARGET\nnpm error notarget No matching version found for {0}@^9.0.0."
CARGO = """error: failed to select a version for the requirement `{0} = "^3"`
candidate versions found which didn't match: 1.0.200, 1.0.199
required by package `shop v0.1.0 (/srv/w)`"""
GO = "go: github.com/acme/{0}@v1.2.0 requires go >= 1.22 (running go 1.20)"
RESOLVERS = {
    "poetry add": RANGE, "poetry install": PUBGRUB, "uv sync": UV, "bundle install": BUNDLER, "conda install": CONDA,
    "mamba install": MAMBA, "pip install": PIP, "pip install -r all.txt": PIP_CONFLICT, "npm install": NODE,
    "npm ci": TARGET, "cargo build": CARGO, "go mod tidy": GO,
}  # fmt: skip


@promise(
    "signatures:resolver",
    "That dependencies go together in no way has a signature, which names what stands against what: of Poetry, pip, "
    "uv, Conda, npm, Cargo, Bundler and Go. The same of another package is another error.",
    source="issue 11 Recipes",
)
@pytest.mark.parametrize("command", RESOLVERS)
def test_what_a_resolver_says_is_told_by_the_package(command: str) -> None:
    printed = RESOLVERS[command]
    found, later, other = (
        signature_of(printed.format(name).replace("(0.3s)", took), command)
        for name, took in (("leftpad", "(0.3s)"), ("leftpad", "(4.1s)"), ("rightpad", "(0.3s)"))
    )
    assert found is not None
    assert later is not None
    assert other is not None
    assert "leftpad" in found.message
    assert not found.is_general
    assert later.key == found.key
    assert other.key != found.key
    assert not is_near(found, other)


@promise("signatures:resolver")
def test_the_reason_of_a_resolver_is_its_first() -> None:
    said = [found.text for each in (RANGE, PUBGRUB) if (found := signature_of(each.format("numpy"))) is not None]
    assert said == [
        "resolver: supported Python range (>=N,<N) is not compatible with some of the required packages: numpy "
        "requires Python >=N",
        "resolver: version solving failed: no versions of numpy match >N,<N and shop depends on urllib3 (^N)",
    ]


@promise("signatures:resolver")
@pytest.mark.parametrize("said", ["version solving failed.", "No solution found when resolving dependencies"])
def test_a_resolver_that_gives_no_reason_has_no_reason_made_up(said: str) -> None:
    found = signature_of(f"{said}\n", "poetry lock")
    assert found is None or found.type != "resolver"
