"""Write what is made from the table of operations: the tools, the interface of the commands, the reference pages."""

from __future__ import annotations

from pathlib import Path

from reasoningbank.operations.reference import written

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Write every file that differs."""
    for name, text in written().items():
        place = ROOT / name
        if not place.exists() or place.read_text(encoding="utf-8") != text:
            place.write_text(text, encoding="utf-8")
            print(f"wrote {name}")


if __name__ == "__main__":
    main()
