"""The command line, as ``python -m anchorview``."""

from anchorview.cli import main

if __name__ == "__main__":
    main()
