"""The command line, with a first piece whose first reader hangs: `python -m support.troubled_load load …`."""

import sys
from unittest.mock import patch

from omnigraph.cli.main import main
from omnigraph.pipeline.load.bulk import writer
from support import troubled_pieces

if __name__ == "__main__":
    with patch.object(writer, "read_piece", troubled_pieces.slow_first_attempt):
        sys.exit(main(sys.argv[1:]))
