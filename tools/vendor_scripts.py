"""Fetch the scripts of the dashboard by their npm names, check what came, and put them below web/static/vendor.

A new version: change the version here, run it, and write the integrity that it names beside it once the package has
been looked at. Needs npm.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

TARGET = Path(__file__).parents[1] / "src" / "reasoningbank" / "web" / "static" / "vendor"


class Vendored(NamedTuple):
    """One npm package, its SHA-512 in the spelling of npm, and the files that are taken, by their names here."""

    name: str
    version: str
    integrity: str
    files: dict[str, str]


PACKAGES = (
    Vendored(
        "htmx.org",
        "4.0.1",
        "oF7JgXhDW9UXCy/k1ZYFUQgzu/rm19ORWPSPNL91vPluB2PB9+MV55tyQdH/w7o2EAbTYUG5SDW1R60mdkdqGg==",
        {"htmx.min.js": "dist/htmx.min.js", "htmx.LICENSE": "LICENSE"},
    ),
    Vendored(
        "uplot",
        "1.6.32",
        "KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
        {"uplot.min.js": "dist/uPlot.iife.min.js", "uplot.min.css": "dist/uPlot.min.css", "uplot.LICENSE": "LICENSE"},
    ),
    Vendored(
        "cytoscape",
        "3.35.0",
        "sMvBIXiGMnhkCaWz2R06FwF/27MNlS+Tqvi17foO9UhnUg3XGZccKjxsvEqQFAQYMSSZmN5SxYzUYlQ0DOJJ3g==",
        {"cytoscape.min.js": "dist/cytoscape.min.js", "cytoscape.LICENSE": "LICENSE"},
    ),
)


def main() -> int:
    """Fetch every package, or say which one is not what was looked at."""
    npm = shutil.which("npm")
    if npm is None:
        print("npm is not there; it fetches the packages.", file=sys.stderr)
        return 1
    TARGET.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        with tempfile.TemporaryDirectory() as folder:
            named = f"{package.name}@{package.version}"
            subprocess.run([npm, "pack", "--silent", named], cwd=folder, check=True, capture_output=True, timeout=300)
            (archive,) = Path(folder).glob("*.tgz")
            found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
            if found != package.integrity:
                print(f"{named} is not the package that was looked at: its integrity is {found}", file=sys.stderr)
                return 1
            with tarfile.open(archive) as files:
                for target, source in package.files.items():
                    content = files.extractfile(f"package/{source}")
                    if content is None:
                        print(f"{named} has no {source}", file=sys.stderr)
                        return 1
                    text = content.read().decode()
                    # A map of the source is not shipped: a browser would ask for it.
                    lines = [line for line in text.splitlines() if not line.startswith("//# sourceMappingURL=")]
                    (TARGET / target).write_text("\n".join(lines).rstrip() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
