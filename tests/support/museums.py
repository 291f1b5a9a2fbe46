"""A cluster to test with: a museum with a graph of artworks and one of its archive, declared in files."""

from pathlib import Path

from support.program import POLICY, QUERIES, SCHEMA

ARCHIVE_SCHEMA = "node Letter {\n  title: String @key\n}\n"
LOANS_SCHEMA = "node Loan {\n  number: String @key\n}\n"
GROWN_SCHEMA = SCHEMA.replace("  born: I32?\n", "  born: I32?\n  died: I32?\n")
SERVER_POLICY = """\
version: 1
kind: server
groups:
  everybody: [act-ines]
rules:
  - id: see-graphs
    allow:
      actors: { group: everybody }
      actions: [graph_list]
"""
TWO_GRAPHS = """\
graphs:
  artworks:
    schema: art.pg
    queries: queries/
  archive:
    schema: archive.pg
"""
KEEPERS = """\
policies:
  keepers: { file: keepers.policy.yaml, applies_to: [artworks] }
"""
ONE_GRAPH = """\
graphs:
  artworks:
    schema: art.pg
    queries: queries/
"""


def write_museum(directory: Path, body: str = ONE_GRAPH + KEEPERS, *, storage: str | None = None) -> str:
    """Write the files of a cluster; return its directory as commands take it."""
    directory.joinpath("queries").mkdir(parents=True, exist_ok=True)
    directory.joinpath("art.pg").write_text(SCHEMA, encoding="utf-8")
    directory.joinpath("archive.pg").write_text(ARCHIVE_SCHEMA, encoding="utf-8")
    directory.joinpath("loans.pg").write_text(LOANS_SCHEMA, encoding="utf-8")
    directory.joinpath("queries", "art.gq").write_text(QUERIES, encoding="utf-8")
    directory.joinpath("keepers.policy.yaml").write_text(POLICY, encoding="utf-8")
    directory.joinpath("server.policy.yaml").write_text(SERVER_POLICY, encoding="utf-8")
    declare(directory, body, storage=storage)
    return str(directory)


def declare(directory: Path, body: str, *, storage: str | None = None) -> None:
    """Write another `cluster.yaml` over the files that are there."""
    place = f"storage: {storage}\n" if storage is not None else ""
    directory.joinpath("cluster.yaml").write_text(f"version: 1\n{place}{body}", encoding="utf-8")
