"""`python -m omnigraph`: the same program as `omnigraph`, for when the script is not on the path."""

import sys

from omnigraph.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
