"""``python -m reasoningbank.cli``: the command line without an installed script."""

from reasoningbank.cli import main

if __name__ == "__main__":
    main()
