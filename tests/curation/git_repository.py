"""A git repository whose commits bear the times that a test wants."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path


class Git:
    """A real git repository whose commits bear the times that a test wants."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.run("init", "-q", "-b", "main", at=datetime(2026, 1, 1, tzinfo=UTC))

    def run(self, *arguments: str, at: datetime) -> str:
        """One command of git at that time."""
        moment = at.isoformat()
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments],
            env={
                "PATH": "/usr/bin:/bin:/usr/local/bin",
                "HOME": str(self.path),
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_AUTHOR_NAME": "A",
                "GIT_AUTHOR_EMAIL": "a@example.org",
                "GIT_COMMITTER_NAME": "A",
                "GIT_COMMITTER_EMAIL": "a@example.org",
                "GIT_AUTHOR_DATE": moment,
                "GIT_COMMITTER_DATE": moment,
            },
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, text: str, *, at: datetime) -> str:
        """The full name of a new commit that changes a file of its own."""
        name = f"{len(list(self.path.glob('*.txt')))}.txt"
        (self.path / name).write_text(text, encoding="utf-8")
        self.run("add", name, at=at)
        self.run("commit", "-q", "-m", text, at=at)
        return self.run("rev-parse", "HEAD", at=at)

    def revert(self, commit: str, *, at: datetime) -> str:
        """The full name of the commit that reverts another one."""
        self.run("revert", "--no-edit", commit, at=at)
        return self.run("rev-parse", "HEAD", at=at)
