"""The files of deploy/: they can be read, run nobody as root, and say what the program understands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from promises import promise
from reasoningbank.cli.app import command_of, rbank
from reasoningbank.mcp.http import LIVE_PATH, READY_PATH
from reasoningbank.settings import PREFIX, load_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
USER = 10001
KUBERNETES = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
DOCKER_WORDS = {"FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


def dockerfile() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with what they say."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def pods() -> Iterator[dict[str, Any]]:
    """The pods of all Kubernetes files."""
    for path in KUBERNETES:
        for each in yaml.safe_load_all(path.read_text()):
            if each["kind"] in {"Deployment", "Job"}:
                yield each["spec"]["template"]["spec"]


def parsed(words: list[str]) -> None:
    """Reads a command line as ``rbank`` would, and runs nothing."""
    count = 2 if words[0] == "database" else 1
    command = command_of(" ".join(words[:count]))
    assert isinstance(command, click.Command)
    # With its parent, as in the program: a command remembers the help option of the first context that it had.
    command.make_context("rbank", list(words[count:]), parent=click.Context(rbank, **rbank.context_settings))


@promise(
    "deploy:restricted",
    "The container and the Kubernetes files of deploy/ run nobody as root, on a read-only root without capabilities, "
    "and ask for health where the server answers.",
    source="issue 15 Many servers",
)
def test_pods_are_restricted_and_probed() -> None:
    found = list(pods())
    assert len(found) == len(KUBERNETES) == 2
    for pod in found:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == USER
        assert pod["automountServiceAccountToken"] is False
        mounts = {volume["name"] for volume in pod["volumes"]}
        for container in pod["containers"]:
            own = container["securityContext"]
            assert (own["readOnlyRootFilesystem"], own["allowPrivilegeEscalation"]) == (True, False)
            assert own["capabilities"] == {"drop": ["ALL"]}
            assert {mount["name"] for mount in container["volumeMounts"]} <= mounts
            assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/data", "/tmp"}
            parsed(container["args"])
            for probe, path in (("livenessProbe", LIVE_PATH), ("readinessProbe", READY_PATH)):
                if container["name"] == "server":
                    assert container[probe]["httpGet"] == {"path": path, "port": "http"}


@promise("deploy:restricted")
def test_the_container_is_of_no_root_and_starts_the_server() -> None:
    steps = dockerfile()
    assert {word for word, _ in steps} <= DOCKER_WORDS
    assert [rest for word, rest in steps if word == "USER"] == [f"{USER}:{USER}"]
    assert steps.index(("USER", f"{USER}:{USER}")) < next(i for i, step in enumerate(steps) if step[0] == "ENTRYPOINT")
    said = {word: rest for word, rest in steps if word in {"ENTRYPOINT", "CMD"}}
    assert json.loads(said["ENTRYPOINT"]) == ["rbank"]
    parsed(json.loads(said["CMD"]))
    assert LIVE_PATH in dict(steps)["HEALTHCHECK"]
    copied = [rest.split()[:-1] for word, rest in steps if word == "COPY" and not rest.startswith("--from")]
    for name in (name for names in copied for name in names):
        assert (ROOT / name).exists(), name


@promise("deploy:restricted")
def test_compose_runs_on_a_read_only_root() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    for name in ("init", "server"):
        assert services[name]["read_only"] is True
        assert (DEPLOY / services[name]["build"]["context"] / services[name]["build"]["dockerfile"]).exists()
    assert services["server"]["cap_drop"] == ["ALL"]
    parsed(services["init"]["command"])


@promise("deploy:restricted")
@pytest.mark.parametrize(
    "path", [DEPLOY / "Dockerfile", DEPLOY / "compose.yaml", *KUBERNETES], ids=lambda path: path.name
)
def test_every_setting_of_the_files_is_one(path: Path, tmp_path: Path) -> None:
    named = re.findall(rf"{PREFIX}([A-Z_]+)", path.read_text())
    assert named or path.name == "init.yaml"
    for name in named:
        load_settings({f"{PREFIX}HOME": str(tmp_path), f"{PREFIX}{name}": "" if name != "HOME" else str(tmp_path)})
