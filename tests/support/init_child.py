"""An init in a process of its own: `python -m support.init_child <uri> [force] [wait]`; prints one JSON line.

With `wait` it says that it is ready and begins when it hears a line, so that several can begin at once.
"""

import json
import sys

import omnigraph
from omnigraph.errors import OmniError
from support import harbor


def main() -> None:
    uri, *words = sys.argv[1:]
    if "wait" in words:
        print("ready", flush=True)
        sys.stdin.readline()
    try:
        omnigraph.init(uri, harbor.SCHEMA, force="force" in words)
    except OmniError as error:
        print(json.dumps({"ok": False, "error": error.kind, "effect": error.effect, "message": str(error)}))
    except OSError as error:
        print(json.dumps({"ok": False, "error": "oserror", "effect": "none", "message": str(error)}))
    else:
        print(json.dumps({"ok": True}))


if __name__ == "__main__":
    main()
