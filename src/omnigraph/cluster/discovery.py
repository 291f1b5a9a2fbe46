"""Finding stored queries: which files a graph's `queries` means, and which queries they declare.

Each file is read once, and that content is what is hashed, checked and stored.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Catalog
from omnigraph.cluster.declared import DeclaredGraph, NamedQueries
from omnigraph.cluster.diagnostics import DiagnosticCode, Diagnostics
from omnigraph.cluster.resources import NAME_RULE, is_name
from omnigraph.errors import MixedMutation, ParseError, QueryTypeError
from omnigraph.language.query import parse_queries
from omnigraph.language.query.syntax import QueryFileSyntax, QuerySyntax
from omnigraph.query.check import check_query

QUERY_SUFFIX = ".gq"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file that a resource is made of, as it was read."""

    path: Path
    shown: str
    """As the configuration spells it."""
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundQuery:
    """One stored query and the file that declares it."""

    name: str
    file: SourceFile
    syntax: QuerySyntax
    parsed: QueryFileSyntax


class QueryFinder:
    """Finds the stored queries of the graphs of one configuration."""

    def __init__(self, directory: Path, found: Diagnostics) -> None:
        self._directory = directory
        self._found = found
        self._files: dict[Path, tuple[SourceFile, QueryFileSyntax] | None] = {}

    def queries_of(self, graph: DeclaredGraph) -> dict[str, FoundQuery]:
        """Return the queries of a graph by name; whatever hides one is noted."""
        path = f"graphs.{graph.graph_id}.queries"
        if isinstance(graph.queries, NamedQueries):
            return dict(self._named(graph.queries.file_by_name, path))
        return self._listed(graph.queries.paths, path)

    def _named(self, file_by_name: Mapping[str, str], path: str) -> Iterator[tuple[str, FoundQuery]]:
        for name, file in file_by_name.items():
            read = self._read(file, f"{path}.{name}.file")
            if read is None:
                continue
            source, parsed = read
            syntax = next((query for query in parsed.queries if query.name.text == name), None)
            if syntax is None:
                declared = ", ".join(query.name.text for query in parsed.queries) or "none"
                self._found.error(
                    DiagnosticCode.QUERY_KEY_MISMATCH,
                    f"{path}.{name}",
                    f"{file} declares no `query {name}`; it declares {declared}.",
                )
                continue
            yield name, FoundQuery(name=name, file=source, syntax=syntax, parsed=parsed)

    def _listed(self, paths: tuple[str, ...], path: str) -> dict[str, FoundQuery]:
        queries: dict[str, FoundQuery] = {}
        seen: set[Path] = set()
        for file in (file for written in paths for file in self._files_at(written, path)):
            place = self._directory / file
            if place in seen:
                continue
            seen.add(place)
            read = self._read(file, path)
            for syntax in read[1].queries if read else ():
                assert read is not None  # the loop has no round without a file
                name = syntax.name.text
                if not is_name(name):
                    reason = f"`{name}` in {file} cannot be the name of a stored query: one {NAME_RULE}."
                    self._found.error(DiagnosticCode.INVALID_RESOURCE_ID, path, reason)
                    continue
                if name in queries:
                    self._found.error(
                        DiagnosticCode.DUPLICATE_QUERY_NAME,
                        path,
                        f"`query {name}` is declared in {queries[name].file.shown} and in {file}; rename one of them.",
                    )
                    continue
                queries[name] = FoundQuery(name=name, file=read[0], syntax=syntax, parsed=read[1])
        return queries

    def _files_at(self, written: str, path: str) -> list[str]:
        place = self._directory / written
        if written.endswith(QUERY_SUFFIX) and not place.is_dir():
            return [written]
        try:
            names = sorted(child.name for child in place.iterdir() if child.name.endswith(QUERY_SUFFIX))
        except OSError as error:
            reason = f"The directory {written} cannot be read: {error.strerror}."
            self._found.error(DiagnosticCode.QUERY_DIR_UNREADABLE, path, reason)
            return []
        if not names:
            reason = f"The directory {written} holds no {QUERY_SUFFIX} file."
            self._found.warn(DiagnosticCode.QUERY_DIR_EMPTY, path, reason)
        return [f"{written.rstrip('/')}/{name}" for name in names]

    def _read(self, file: str, path: str) -> tuple[SourceFile, QueryFileSyntax] | None:
        place = self._directory / file
        if place not in self._files:
            self._files[place] = self._read_new(place, file, path)
        return self._files[place]

    def _read_new(self, place: Path, file: str, path: str) -> tuple[SourceFile, QueryFileSyntax] | None:
        try:
            content = place.read_bytes()
        except OSError as error:
            reason = f"The query file {file} cannot be read: {error.strerror}."
            self._found.error(DiagnosticCode.QUERY_FILE_MISSING, path, reason)
            return None
        try:
            parsed = parse_queries(content.decode(), source=file)
        except (ParseError, UnicodeDecodeError) as error:
            self._found.error(DiagnosticCode.QUERY_PARSE_ERROR, path, f"{file}: {error}")
            return None
        if any(query.is_bare for query in parsed.queries):
            reason = f"{file} has a query without a name; stored queries are declared with `query <name>(…)`."
            self._found.error(DiagnosticCode.QUERY_PARSE_ERROR, path, reason)
            return None
        return SourceFile(path=place, shown=file, content=content), parsed


def check_queries(
    graph_id: str, queries: Mapping[str, FoundQuery], catalog: Catalog | None, found: Diagnostics
) -> None:
    """Check queries against the declared schema of their graph; without one they are only said to be unchecked."""
    for name, query in sorted(queries.items()):
        address = f"query.{graph_id}.{name}"
        if catalog is None:
            reason = f"{address} was not checked, because {graph_id} has a schema with errors."
            found.warn(DiagnosticCode.QUERY_TYPECHECK_SKIPPED, address, reason)
            continue
        problem = query_problem(query.syntax, query.parsed, catalog)
        if problem is not None:
            found.error(DiagnosticCode.QUERY_TYPECHECK_ERROR, address, problem)


def query_problem(syntax: QuerySyntax, parsed: QueryFileSyntax, catalog: Catalog) -> str | None:
    """Say why a query does not fit a schema; None if it does."""
    try:
        check_query(syntax, catalog, source=parsed.source)
    except (QueryTypeError, MixedMutation) as error:
        return error.message
    return None
