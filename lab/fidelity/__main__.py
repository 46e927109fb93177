"""The command line."""

import sys

from lab.fidelity.cli import main

if __name__ == "__main__":
    sys.exit(main())
