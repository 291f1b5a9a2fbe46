"""What writers do to a library while it is optimized."""

from support import harbor, library


def row_of(result, table_key):
    (found,) = [table for table in result.tables if table.table_key == table_key]
    return found


def append(graph):
    graph.load(harbor.lines([library.book(500)]), mode="append")


def delete(graph, number):
    with graph.write() as batch:
        batch.delete("Book", ids=[f"b{number}"])


def update(graph, number):
    with graph.write() as batch:
        batch.update("Book", {"title": "a late edition"}, ids=[f"b{number}"])


def overwrite(graph):
    graph.load(harbor.lines([library.book(number, "a late edition") for number in range(9)]), mode="overwrite")


FIRST, MIDDLE, LAST = 0, 4, 8
WRITES = {
    "append": append,
    "delete in the first fragment": lambda graph: delete(graph, FIRST),
    "delete in a middle fragment": lambda graph: delete(graph, MIDDLE),
    "delete in the last fragment": lambda graph: delete(graph, LAST),
    "update in the first fragment": lambda graph: update(graph, FIRST),
    "update in the last fragment": lambda graph: update(graph, LAST),
    "overwrite": overwrite,
}
