"""The way into `omnigraph-server`: the command `serve`, under a name that service managers can call."""

import sys
from typing import NoReturn


def program() -> NoReturn:
    """Run `omnigraph serve` with the arguments of this process."""
    from omnigraph.cli.main import program as run

    sys.argv.insert(1, "serve")
    run()


if __name__ == "__main__":
    program()
