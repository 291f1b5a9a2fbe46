"""How long one process waits for another, each wait once.

Gates, cleanups and writers of other processes are waited for here and there; what all of them mean is one number each.
How long a request to a store or a service may take is said where it is made (`storage/objects`, `providers/`), and how
often somebody looks again is said in the loop that looks.
"""

from typing import Final

GATE_SECONDS: Final = 30.0
"""For a gate: a writer holds it for its commits and its publish, which take moments.

One that died on an object store keeps it for up to another 31 seconds, until its lease has run out."""
CLEANUP_SECONDS: Final = 30.0
"""For a cleanup that may remove the versions somebody has just begun to read."""
WRITER_SECONDS: Final = 10.0
"""For a live writer to publish what it committed, before what it leaves half done counts as interrupted or as drift."""
SWAP_SECONDS: Final = 30.0
"""For a swap of an object that another process makes on the same disk: it writes a few bytes under a lock."""
BASELINE_SECONDS: Final = 600.0
"""For another baseline that writes to the same directory."""
STRAGGLER_SECONDS: Final = 10.0
"""For tasks that still write to a scratch whose operation has ended."""
