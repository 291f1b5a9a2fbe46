"""One scratch file for many small tables: what a worker kept for every bucket, and at the end where each begins.

A file per bucket would make as many files as there are workers times buckets, and both grow with the data.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from struct import Struct

import pyarrow as pa

from omnigraph.storage.scratch import Scratch, tables_in, write_named

_ENTRY = Struct("=qqq")
"""A bucket, and where its tables begin and end; entries are in the order of buckets, and behind them is their count."""
_COUNT = Struct("=q")
_LOOK_BYTES = 1 << 14
"""Holds the entries of most files, so that one request tells where a bucket is."""


def write_cuts(scratch: Scratch, name: str, cuts: Iterable[tuple[int, str, pa.Table]]) -> None:
    """Keep tables by bucket and relation; those without rows are left out."""
    in_order = sorted((cut for cut in cuts if cut[2].num_rows), key=itemgetter(0))
    index = bytearray()
    with scratch.sink(name) as sink:
        for bucket, found in groupby(in_order, key=itemgetter(0)):
            start = sink.tell()
            for _, relation, rows in found:
                write_named(sink, relation, rows)
            index += _ENTRY.pack(bucket, start, sink.tell())
        sink.write(bytes(index) + _COUNT.pack(len(index) // _ENTRY.size))


def read_cuts(scratch: Scratch, name: str, bucket: int) -> Iterator[tuple[str, pa.Table]]:
    """Yield what was kept for one bucket, relation by relation."""
    index = _index(scratch, name)
    at = 3 * bisect_left(range(len(index) // 3), bucket, key=lambda place: index[3 * place])
    if at < len(index) and index[at] == bucket:
        yield from tables_in(pa.BufferReader(scratch.read_range(name, index[at + 1], index[at + 2])))


def read_cuts_between(scratch: Scratch, name: str, first: int, last: int) -> Iterator[tuple[int, str, pa.Table]]:
    """Yield what was kept for neighbouring buckets, by bucket and relation: one request for all of them."""
    index = _index(scratch, name)
    places = range(len(index) // 3)
    start = bisect_left(places, first, key=lambda place: index[3 * place])
    end = bisect_left(places, last + 1, key=lambda place: index[3 * place])
    if start == end:
        return
    begins = index[3 * start + 1]
    found = memoryview(scratch.read_range(name, begins, index[3 * end - 1]))
    for place in range(start, end):
        bucket, since, until = index[3 * place : 3 * place + 3]
        for relation, rows in tables_in(pa.BufferReader(found[since - begins : until - begins])):
            yield bucket, relation, rows


def read_relation(scratch: Scratch, name: str, relation: str) -> Iterator[pa.Table]:
    """Yield what was kept of one relation, whatever the buckets."""
    index = _index(scratch, name)
    if len(index):
        found = tables_in(pa.BufferReader(scratch.read_range(name, 0, index[-1])))
        yield from (rows for kept_as, rows in found if kept_as == relation)


def _index(scratch: Scratch, name: str) -> memoryview:
    end = scratch.read_end(name, _LOOK_BYTES)
    (count,) = _COUNT.unpack(end[-_COUNT.size :])
    size = count * _ENTRY.size + _COUNT.size
    if size > len(end):
        end = scratch.read_end(name, size)
    return memoryview(bytes(end[-size : -_COUNT.size])).cast("q")
