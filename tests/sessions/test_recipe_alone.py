"""One command with nothing beside it is what helped; what was taken away, and damage of one's own, helped nobody."""

from __future__ import annotations

import json

import pytest

from promises import promise
from reasoningbank.sessions.recipes import recipes_of
from reasoningbank.sessions.signatures import signature_of
from reasoningbank.types.session import Step, Trajectory
from sessions.judged_cases import shell

Steps = tuple[Step, ...]


def edit(place: str, old: str, new: str) -> Step:
    action = json.dumps({"file_path": place, "old_string": old, "new_string": new})
    return Step(tool="Edit", action=action, observation=f"The file {place} has been updated.")


def fixes(steps: Steps) -> list[str]:
    """What the session shows, in words."""
    return [one.content for one in recipes_of(Trajectory(task="Make it work", steps=steps)) if one.kind == "fix"]


def around(action: str, said: str, passed: str, *between: Step, status: int = 1) -> Steps:
    """A command that fails, what is done then, and the same command again."""
    return (shell(action, said, status), *between, shell(action, passed))


FULL = "write /var/lib/out.img: no space left on device"
HELPED = {
    "packages of PHP": (
        around("bin/phpstan analyse", "bash: bin/phpstan: No such file or directory", "[OK] No errors",
               shell("composer install", "Generating autoload files"), status=127),
        "composer install",
    ),
    "another cluster": (
        around("kubectl rollout restart deploy/pay", 'error: deployments.apps "pay" not found', "restarted",
               shell("kubectl config use-context eu-2", "Switched"), status=1),
        "kubectl config use-context eu-2",
    ),
    "room on the disk": (
        around("make iso", FULL, "iso written", shell("df -h", "100% /"), shell("docker builder prune -af", "9 GB")),
        "docker builder prune -af",
    ),
    "a manager of packages": (
        around("pnpm install", "error This project's packageManager field asks for pnpm 9, but pnpm 8 was found", "ok",
               shell("corepack enable", "")),
        "corepack enable",
    ),
    "settings and a key, in one line": (
        around("php artisan tinker", "RuntimeException: No application encryption key has been specified.", "ok",
               shell("cp .env.dist .env && php artisan key:generate", "set")),
        "cp .env.dist .env && php artisan key:generate",
    ),
    "licences, answered by another program": (
        around("gradle assemble", "* What went wrong:\nLicences of packages have not been accepted.\n  ndk 26", "ok",
               shell("yes | sdkmanager --licenses", "accepted")),
        "yes | sdkmanager --licenses",
    ),
    "an import": (
        around("./gradlew compile", "e: file:///w/src/Timer.kt:9:17 Unresolved reference: Duration", "BUILD SUCCESSFUL",
               edit("src/Timer.kt", "package w", "package w\n\nimport kotlin.time.Duration")),
        "import kotlin.time.Duration",
    ),
    "a library of R": (
        around("Rscript plot.R", 'Error in ggsave("a.png") : could not find function "ggsave"', "saved",
               edit("plot.R", "library(dplyr)", "library(dplyr)\nlibrary(ggplot2)")),
        "library(ggplot2)",
    ),
    "a line that is there twice": (
        around("nginx -t", 'nginx: [emerg] duplicate location "/api" in /etc/nginx/site.conf:14', "test is successful",
               edit("/etc/nginx/site.conf", "location /api { }\nlocation /api { }", "location /api { }")),
        "location /api",
    ),
}  # fmt: skip


@promise("recipes:ways")
@pytest.mark.parametrize("name", HELPED)
def test_the_only_command_between_is_what_helped(name: str) -> None:
    steps, helped = HELPED[name]
    (said,) = fixes(steps)
    assert helped in said


DENIED = "Error: cannot open the queue of host eu-1: handshake was refused by policy"
PANIC = "thread 'main' panicked at src/main.rs:8:20:\ncalled `Result::unwrap()` on an `Err` value: BadSchema(7)"
NONE = {
    "only looked at": around(
        "./push", DENIED, "pushed", shell("docker ps", "CONTAINER ID"), shell("kubectl get po", "")
    ),
    "two commands": around("./push", DENIED, "pushed", shell("vpn on", ""), shell("ssh-add", "")),
    "a program that was typed in": around("./push", DENIED, "pushed", shell("python -c 'import x; x.go()'", "")),
    "a file that is gone": around("./push", DENIED, "pushed", shell("rm policy.hcl", "")),
    "it comes and goes": around(
        "./push", "Error: upstream said 503 service unavailable", "pushed", shell("vpn up", "")
    ),
    "a test of its own": around(
        "pytest -q", "FAILED t.py::test_sum - AssertionError: assert 3 == 4\n1 failed", "1 passed", shell("vpn up", "")
    ),
    "a call is gone": around(
        "cargo run", PANIC, "up", edit("src/main.rs", "open();\nmigrate().unwrap();", "open();"), status=101
    ),
    "a body that does nothing": around(
        "node run.js",
        "TypeError: Cannot read properties of undefined (reading 'rate') at tax",
        "ok",
        edit("tax.js", "function tax(c) {\n  return c.rate * c.sum;\n}", "function tax(c) {\n  return null;\n}"),
    ),
    "a task that is never run": around(
        "ansible-playbook up.yml",
        'fatal: [a]: FAILED! => {"msg": "relation users is locked by migration"}',
        "ok=3",
        edit("up.yml", "- name: migrate\n  command: up", "- name: migrate\n  command: up\n  when: false"),
    ),
    "a test that ends at once": around(
        "deno test",
        "error: AssertionError: Values are not equal: umlauts of the slug",
        "ok | 3 passed | 0 failed",
        edit("slug_test.ts", "fn() {\n  const a = slug('x');", "fn() {\n  return;\n  const a = slug('x');"),
    ),
    "a script leaves a command out": around(
        "npm run build",
        "src/a.ts(9,3): error TS2322: Type 'string' is not assignable to type 'number'.",
        "built",
        edit("package.json", '"build": "tsc && vite build"', '"build": "vite build"'),
    ),
    "a line of a script": around(
        "./ci.sh",
        "error: advisory check of h2 failed",
        "done",
        edit("ci.sh", "build\ncargo deny check\ndoc", "build\ndoc"),
    ),
    "tests may try again": (
        shell(
            "npx playwright test", "Error: locator of the pay button was not visible\n  1 failed\n  5 passed (9s)", 1
        ),
        shell("npx playwright test --retries=3", "  6 passed (20s)"),
    ),
    "what it had stopped by its number": (
        shell("kill 4471", ""),
        *around(
            "node w.js", "Error: connect ECONNREFUSED 127.0.0.1:6379", "ready", shell("docker start cache", "cache")
        ),
    ),
    "what it had given other settings": (
        edit("/etc/redis/redis.conf", "port 6379", "port 6380"),
        *around(
            "node w.js", "Error: connect ECONNREFUSED 127.0.0.1:6379", "ready", shell("systemctl restart redis", "")
        ),
    ),
    "a setting that it had taken away": (
        shell("fly secrets unset API_TOKEN", "staged"),
        *around(
            "./probe", "Error: missing API_TOKEN in the shop", "ok", shell("fly secrets set API_TOKEN=x", "staged")
        ),
    ),
}


@promise("recipes:none")
@pytest.mark.parametrize("name", NONE)
def test_what_was_taken_away_or_proves_nothing_is_no_fix(name: str) -> None:
    assert fixes(NONE[name]) == []


ASSERTED = (
    "def test_a():\n>       assert total([1]) == 3\nE       AssertionError\n\nFAILED t.py::test_a - AssertionError"
)


@promise("recipes:decisive")
@pytest.mark.parametrize(
    ("output", "title"),
    [
        (ASSERTED, "AssertionError in test_a: assert total([N]) == N"),
        ("FAILED t.py::a - AssertionError\n1 failed in 0.1s", None),
        ("FAILED t.py::test_rounding - AssertionError\n1 failed in 0.1s", "AssertionError in test_rounding"),
        ('Error: Compiler run failed:\nError (62): Source "a/E.sol" not found', 'error: Source "E.sol" not found'),
        ('PHP Fatal error:  Uncaught Error: Class "Kern" not found in /w/a.php:3', 'Error: Class "Kern" not found'),
    ],
)  # fmt: skip
def test_a_title_says_what_is_wrong(output: str, title: str | None) -> None:
    found = signature_of(output)
    assert (found and found.text) == title
