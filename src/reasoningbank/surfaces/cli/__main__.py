"""``python -m reasoningbank.surfaces.cli``: the command line without an installed script."""

from reasoningbank.surfaces.cli import main

if __name__ == "__main__":
    main()
