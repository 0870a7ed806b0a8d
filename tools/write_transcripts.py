"""Run the commands of documentation pages and write their outputs of today into the pages; without names, into all."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from docs.pages import run_pages  # noqa: E402
from docs.transcripts import Run  # noqa: E402


def main() -> None:
    """Write the pages whose outputs have changed."""
    for page in [Path(name) for name in sys.argv[1:]] or run_pages():
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as directory:
            run = Run(Path(directory).resolve())
            try:
                ran = run.page(text)
            finally:
                run.close()
        for difference in ran.differences:
            print(difference, end="\n\n")
        if ran.text != text:
            page.write_text(ran.text, encoding="utf-8")
            print(f"{page}: written")


if __name__ == "__main__":
    main()
