"""`python -m flexdp` is the command line."""

from flexdp.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
