"""From a checked read to one statement: a relation of rows per pattern, then what is returned of them.

A relation of rows has a column `variable.property` for everything that the read asks of a variable, and `variable.id`.
Negations are joins that leave rows out, so that no statement refers to rows around it: both engines can run that.
"""

from collections.abc import Mapping
from itertools import count
from typing import Any

from omnigraph.base.values import dataclass
from omnigraph.catalog.model import Scalar
from omnigraph.errors import QueryFailed
from omnigraph.query.plan.planner import named_variables
from omnigraph.query.plan.reading import properties_asked
from omnigraph.query.sql.conditions import Values
from omnigraph.query.sql.dialects import Dialect
from omnigraph.query.sql.reach import pair_relations
from omnigraph.query.typed import (
    HOPS,
    ID,
    Aggregate,
    CheckedRead,
    Condition,
    Constant,
    Expression,
    NodeReference,
    Now,
    OrderKey,
    Parameter,
    Pattern,
    PropertyRead,
    TextMatch,
    Travel,
    Traversal,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A read with everything that comes with one run of it."""

    read: CheckedRead
    parameters: Mapping[str, Any]
    now_ms: int

    def constant(self, expression: Constant | Parameter | Now) -> Any:
        """Return the value that an expression has for all rows."""
        if isinstance(expression, Constant):
            return expression.value
        return self.now_ms if isinstance(expression, Now) else self.parameters[expression.name]

    @property
    def limit(self) -> int | None:
        """How many rows are wanted at most."""
        limit = self.read.limit
        return self.parameters[limit.name] if isinstance(limit, Parameter) else limit


def statement_of(
    asked: Asked,
    dialect: Dialect,
    name_by_table: Mapping[str, str] | None = None,
    *,
    name_by_variable: Mapping[str, str] | None = None,
) -> str:
    """Spell a read; types are called by their table keys where no other names are given.

    A variable of the match itself may have a table of its own, with fewer rows than its type.
    """
    return _Statement(asked, dialect, name_by_table or {}, name_by_variable or {}).text(asked.limit)


class _Statement:
    def __init__(
        self,
        asked: Asked,
        dialect: Dialect,
        name_by_table: Mapping[str, str],
        name_by_variable: Mapping[str, str],
    ) -> None:
        self._read = asked.read
        self._dialect = dialect
        self._name_by_table = name_by_table
        self._name_by_variable = name_by_variable
        self._asked = properties_asked(asked.read)
        self._relations: dict[str, str] = {}
        self._numbers = count()
        self._values = Values(dialect=dialect, parameters=asked.parameters, now_ms=asked.now_ms, column=self._column)

    def text(self, limit: int | None) -> str:
        rows = self._rows(self._read.pattern, None, ())
        body = self._grouped(rows) if self._read.is_aggregate else self._projected(rows)
        listed = ",\n".join(f"{name} AS ({text})" for name, text in self._relations.items())
        end = "" if limit is None else f"\nLIMIT {limit}"
        return f"WITH {listed}\n{body}{end}"

    def _rows(self, pattern: Pattern, outer: str | None, known: tuple[str, ...]) -> str:
        """Add the relation of a pattern's rows: those of the pattern around it, and its own variables beside them."""
        tables = [f"{outer} o"] if outer else []
        tests: list[str] = []
        selected = ["o.*"] if outer else []
        homes: dict[str, str] = {}
        for variable, entity in (*pattern.nodes.items(), *pattern.edges.items()):
            alias = f"t{len(homes)}"
            homes[variable] = alias
            own = self._name_by_variable.get(variable) if outer is None else None
            tables.append(f"{self._table(entity.table_key) if own is None else self._name(own)} {alias}")
            selected += [
                f"{self._number(f'{alias}.{self._name(asked)}', entity, asked)} AS {self._name(f'{variable}.{asked}')}"
                for asked in sorted({ID, *self._asked.get((variable, entity.table_key), ())})
            ]
        for traversal in pattern.traversals:
            hops = self._join(traversal, homes, tables, tests)
            selected += [f"{hops} AS {self._name(f'{traversal.path_variable}.{HOPS}')}"] if hops else []
        # A match without variables is one row, of which nothing is asked.
        inner = f"SELECT {', '.join(selected)} FROM {', '.join(tables)}" if tables else "SELECT 1 AS nothing"
        name = self._add("rows", inner + (f" WHERE {' AND '.join(tests)}" if tests else ""))
        conditions = [self._condition(condition) for condition in pattern.conditions]
        if conditions:
            name = self._add("rows", f"SELECT * FROM {name} WHERE {' AND '.join(conditions)}")
        variables = (*known, *homes)
        for negation in pattern.negations:
            found = self._rows(negation, name, variables)
            same = " AND ".join(f"a.{key} = b.{key}" for key in map(self._id, variables))
            name = self._add("rows", f"SELECT a.* FROM {name} a {self._dialect.anti_join} {found} b ON {same}")
        return name

    def _join(self, traversal: Traversal, homes: Mapping[str, str], tables: list[str], tests: list[str]) -> str | None:
        """Join what a traversal connects; return the column of its hops if it has a path."""
        left, right = (
            f"{homes[variable]}.id" if variable in homes else f"o.{self._id(variable)}"
            for variable in (traversal.left, traversal.right)
        )
        if traversal.edge_variable is not None:
            edge = homes[traversal.edge_variable]
            out = f"({edge}.src = {left} AND {edge}.dst = {right})"
            back = f"({edge}.src = {right} AND {edge}.dst = {left})"
            tests.append({Travel.OUT: out, Travel.IN: back, Travel.BOTH: f"({out} OR {back})"}[traversal.travel])
            return None
        pairs = self._fresh("pairs")
        self._relations.update(pair_relations(traversal, pairs, self._dialect, self._table))
        alias = f"p{len(tables)}"
        tables.append(f"{pairs} {alias}")
        tests += [f"{alias}.l = {left}", f"{alias}.r = {right}"]
        return f"{alias}.n" if traversal.path_variable else None

    def _condition(self, condition: Condition | TextMatch) -> str:
        if isinstance(condition, TextMatch):
            raise QueryFailed(
                f"`{condition.function}` runs in this process and not in SQL; leave out the engine, or the function."
            )
        return self._values.condition(condition)

    def _projected(self, rows: str) -> str:
        shown = (f"{self._shown(column.expression)} AS {self._name(column.name)}" for column in self._read.columns)
        columns = ", ".join(shown)
        if not self._read.order:
            return f"SELECT {columns} FROM {rows}"
        keys = [self._key(key) for key in self._read.order]
        keys += [f"{self._id(variable)} ASC" for variable in named_variables(self._read.pattern)]
        return f"SELECT {columns} FROM {rows} ORDER BY {', '.join(keys)}"

    def _key(self, key: OrderKey) -> str:
        return f"{self._values.value(key.expression)} {'DESC NULLS LAST' if key.descending else 'ASC NULLS FIRST'}"

    def _grouped(self, rows: str) -> str:
        """Group rows by what is no aggregate; a node is its id, and the rest of it goes with that."""
        groups: list[str] = []
        made, shown, ties = [], [], []
        for place, column in enumerate(self._read.columns):
            expression, name = column.expression, f"c{place}"
            if isinstance(expression, Aggregate):
                made.append(f"{self._aggregate(expression)} AS {name}")
                shown.append(f"{self._back(name, expression.type)} AS {self._name(column.name)}")
            elif isinstance(expression, NodeReference):
                groups.append(self._id(expression.variable))
                made.append(f"{self._id(expression.variable)} AS {name}")
                made.append(f"any_value({self._object(expression)}) AS {name}_object")
                shown.append(f"{name}_object AS {self._name(column.name)}")
                ties.append(f"{name} ASC")
            else:
                value = self._values.value(expression)
                groups.append(value)
                made.append(f"{value} AS {name}")
                shown.append(f"{self._back(name, expression.type)} AS {self._name(column.name)}")
                ties.append(f"{name} ASC NULLS FIRST")
        by = f" GROUP BY {', '.join(groups)}" if groups else ""
        grouped = self._add("grouped", f"SELECT {', '.join(made)} FROM {rows}{by}")
        text = f"SELECT {', '.join(shown)} FROM {grouped}"
        if not self._read.order:
            return text
        keys = [
            f"c{key.column} {'DESC NULLS LAST' if key.descending else 'ASC NULLS FIRST'}" for key in self._read.order
        ]
        return f"{text} ORDER BY {', '.join([*keys, *ties])}"

    def _aggregate(self, aggregate: Aggregate) -> str:
        argument = aggregate.argument
        if isinstance(argument, NodeReference):
            return "count(*)"
        value = self._values.value(argument)
        if aggregate.function in ("sum", "avg"):
            return f"{aggregate.function}(CAST({value} AS DOUBLE))"
        return f"{aggregate.function}({value})"

    def _shown(self, expression: Expression) -> str:
        if isinstance(expression, NodeReference):
            return self._object(expression)
        return self._back(self._values.value(expression), expression.type)

    def _object(self, node: NodeReference) -> str:
        members = {ID: self._id(node.variable)}
        for declared in node.entity.properties:
            if declared.type.scalar is not Scalar.BLOB:
                column = self._name(f"{node.variable}.{declared.name}")
                members[declared.name] = self._back(column, declared.type)
        return self._dialect.struct(members)

    def _number(self, column: str, entity: Any, name: str) -> str:
        """Read a column as the language computes with it: dates and times are numbers."""
        declared = entity.property_by_name.get(name)
        if declared is None or declared.type.is_list:
            return column
        match declared.type.scalar:
            case Scalar.DATE:
                return self._dialect.to_days.format(column)
            case Scalar.DATETIME:
                return self._dialect.to_millis.format(column)
        return column

    def _back(self, value: str, kind: Any) -> str:
        """Return a number as what it stands for."""
        return value if kind.is_list else self._dialect.moment(value, kind.scalar)

    def _table(self, table_key: str) -> str:
        return self._name(self._name_by_table.get(table_key, table_key))

    def _column(self, read: PropertyRead) -> str:
        return self._name(f"{read.variable}.{read.property}")

    def _id(self, variable: str) -> str:
        return self._name(f"{variable}.{ID}")

    def _name(self, name: str) -> str:
        return self._dialect.name(name)

    def _fresh(self, kind: str) -> str:
        return f"{kind}{next(self._numbers)}"

    def _add(self, kind: str, text: str) -> str:
        name = self._fresh(kind)
        self._relations[name] = text
        return name
