"""The command line."""

import sys

from lab.cuts.cli import main

if __name__ == "__main__":
    sys.exit(main())
