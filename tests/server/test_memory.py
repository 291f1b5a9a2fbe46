"""What a process that runs for weeks does about memory."""

import subprocess
import sys

import pytest

from omnigraph.server import memory

RETURNING = """
import ctypes
from pathlib import Path
from omnigraph.server import memory

def resident_mib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) // 1024

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
pieces = [libc.malloc(4_000) for _ in range(50_000)]
for piece in pieces:
    ctypes.memset(piece, 1, 4_000)
for number, piece in enumerate(pieces):
    if number % 100:
        libc.free(piece)
before = resident_mib()
memory.free_memory_returner()(0)
print(before, resident_mib())
"""


@pytest.mark.skipif(memory.free_memory_returner() is None, reason="this C library has no call for it")
def test_memory_between_what_is_still_in_use_goes_back_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", RETURNING], capture_output=True, text=True, check=True)

    before, after = map(int, done.stdout.split())
    assert before > 190
    assert after < before // 2
