"""The set checks as SQL, in the common tongue of DuckDB and Spark.

Relations are described beside each statement. They have these names unless a caller with several of them gives others.
"""


def unique_statement(members: int, *, limit: int, incoming: str = "incoming", retained: str = "retained") -> str:
    """Find holders of a tuple that somebody else holds.

    `incoming(id, u0…, position, file, line)` are written rows, `retained(id, u0…)` stored ones that stay; members are
    canonical spellings. The first holder of a tuple is its stored one, else the earliest of the input.
    """
    columns = ", ".join(f"u{index}" for index in range(members))
    not_null = " AND ".join(f"u{index} IS NOT NULL" for index in range(members))
    return f"""
        WITH final AS (
            SELECT id, {columns}, position, file, line, 1 AS written FROM {incoming} WHERE {not_null}
            UNION ALL
            SELECT id, {columns}, NULL, NULL, NULL, 0 FROM {retained} WHERE {not_null}
        ), ranked AS (
            SELECT *,
                row_number() OVER (PARTITION BY {columns} ORDER BY written, position, id) AS place,
                first_value(id) OVER (PARTITION BY {columns} ORDER BY written, position, id) AS holder
            FROM final
        )
        SELECT id, holder, {columns}, file, line, count(*) OVER () AS total
        FROM ranked WHERE place > 1 AND written = 1
        ORDER BY position, id LIMIT {limit}
    """


def orphan_statement(*, limit: int, edges: str = "edges", nodes: str = "nodes") -> str:
    """Find edges whose endpoint is no node: `edges(id, endpoint, position, file, line)`, `nodes(id)`."""
    return f"""
        SELECT e.id, e.endpoint, e.file, e.line, count(*) OVER () AS total
        FROM {edges} e ANTI JOIN {nodes} n ON e.endpoint = n.id
        ORDER BY e.position, e.id LIMIT {limit}
    """


def cardinality_statement(
    low: int, high: int | None, *, limit: int, touched: str = "touched", edges: str = "edges"
) -> str:
    """Find sources with too few or too many edges.

    `touched(src)` are distinct existing sources, `edges(src, position, file, line)` all their edges afterwards.
    """
    outside = f"n < {low}" + (f" OR n > {high}" if high is not None else "")
    return f"""
        WITH counted AS (
            SELECT t.src, count(e.src) AS n, max(e.position) AS position,
                max_by(e.file, e.position) AS file, max_by(e.line, e.position) AS line
            FROM {touched} t LEFT JOIN {edges} e ON t.src = e.src
            GROUP BY t.src
        )
        SELECT src, n, file, line, count(*) OVER () AS total
        FROM counted WHERE {outside}
        ORDER BY position NULLS LAST, src LIMIT {limit}
    """
