"""The questions: in our language, in Cypher, and as calls of Lance, with what may be lost against each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmarks.query_data import OLD, Data, person
from benchmarks.query_others import RawTables, Rows, Values, among, listed

_KEYS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question. The goals are the shares of the other's time that ours should stay below."""

    what: str
    query: str
    cypher: str
    lance: Callable[[RawTables, Values], Rows] | None = None
    values: tuple[Mapping[str, str], ...] = ({},)
    """What its parameters are, in turn."""
    goal: float
    goal_lance: float | None = None
    with_head: bool = False
    """Whether finding the head of a branch is measured as well."""


def cases(data: Data) -> tuple[Case, ...]:
    """Return all questions, with people to ask about."""
    chance = np.random.default_rng(3)
    some = data.sources[chance.integers(0, len(data.sources), _KEYS)]  # people who know somebody
    keys = tuple({"k": person(number)} for number in some)
    return (
        Case(
            what="one person by key",
            query="query q($k: String) { match { $a: Person { name: $k } } return { $a.age, $a.city } }",
            cypher="MATCH (a:Person {name: $k}) RETURN a.age, a.city",
            lance=_key,
            values=keys,
            goal=0.5,
            goal_lance=0.1,
            with_head=True,
        ),
        Case(
            what="one hop from a key",
            query="query q($k: String) { match { $a: Person { name: $k } $a knows $b } return { $b.name, $b.age } }",
            cypher="MATCH (a:Person {name: $k})-[:Knows]->(b:Person) RETURN b.name, b.age",
            lance=_one_hop,
            values=keys,
            goal=0.5,
            goal_lance=0.1,
            with_head=True,
        ),
        Case(
            what="two hops from a key, each person once with the number of ways",
            query="query q($k: String) { match { $a: Person { name: $k } $a knows $b $b knows $c } "
            "return { $c.name, count($b) as ways } }",
            cypher="MATCH (a:Person {name: $k})-[:Knows]->(b:Person)-[:Knows]->(c:Person) RETURN c.name, count(*)",
            lance=_two_hops,
            values=keys,
            goal=0.5,
            goal_lance=0.1,
        ),
        Case(
            what="how many are reached from a key in one to three hops",
            query="query q($k: String) { match { $a: Person { name: $k } $a knows{1,3} $b } "
            "return { count($b) as n } }",
            cypher="MATCH (a:Person {name: $k})-[:Knows* SHORTEST 1..3]->(b:Person) WHERE b.name <> $k "
            "RETURN count(DISTINCT b)",
            lance=_reach,
            values=keys,
            goal=0.5,
            goal_lance=0.1,
        ),
        Case(
            what="mutual friends of two",
            query="query q($k: String, $m: String) { match { $a: Person { name: $k } $b: Person { name: $m } "
            "$a knows $c $b knows $c } return { $c.name } }",
            cypher="MATCH (a:Person {name: $k})-[:Knows]->(c:Person)<-[:Knows]-(b:Person {name: $m}) RETURN c.name",
            lance=_mutual,
            values=_pairs_with_a_friend(data, some),
            goal=0.5,
            goal_lance=0.1,
        ),
        Case(
            what="triangles at a key",
            query="query q($k: String) { match { $a: Person { name: $k } $a knows $b $b knows $c $c knows $a } "
            "return { count($c) as n } }",
            cypher="MATCH (a:Person {name: $k})-[:Knows]->(b:Person)-[:Knows]->(c:Person)-[:Knows]->(a) "
            "RETURN count(*)",
            lance=_triangles,
            values=keys,
            goal=0.5,
            goal_lance=0.1,
        ),
        Case(
            what="aggregate over one hop of 41 % of people",
            query=f"match {{ $a: Person $a.age > {OLD} $a knows $b }} "
            "return { count($b) as n, sum($b.age) as total }",
            cypher=f"MATCH (a:Person)-[:Knows]->(b:Person) WHERE a.age > {OLD} RETURN count(*), sum(b.age)",
            lance=_aggregate_one,
            goal=0.2,
            goal_lance=0.25,
        ),
        Case(
            what="aggregate over two hops of 41 % of people",
            query=f"match {{ $a: Person $a.age > {OLD} $a knows $b $b knows $c }} "
            "return { count($c) as n, sum($c.age) as total }",
            cypher=f"MATCH (a:Person)-[:Knows]->(b:Person)-[:Knows]->(c:Person) WHERE a.age > {OLD} "
            "RETURN count(*), sum(c.age)",
            lance=_aggregate_two,
            goal=0.2,
            goal_lance=0.25,
        ),
        Case(
            what="the ten oldest people",
            query="match { $a: Person } return { $a.name, $a.age } order { $a.age desc, $a.name } limit 10",
            cypher="MATCH (a:Person) RETURN a.name, a.age ORDER BY a.age DESC, a.name LIMIT 10",
            lance=_oldest,
            goal=0.2,
            goal_lance=0.25,
        ),
        Case(
            what="people by city, counted and added up",
            query="match { $a: Person } return { $a.city, count($a) as n, sum($a.age) as total }",
            cypher="MATCH (a:Person) RETURN a.city, count(*), sum(a.age)",
            lance=_by_city,
            goal=0.2,
            goal_lance=0.25,
        ),
        Case(
            what="all triangles",
            query="match { $a: Person $a knows $b $b knows $c $c knows $a } return { count($a) as n }",
            cypher="MATCH (a:Person)-[:Knows]->(b:Person)-[:Knows]->(c:Person)-[:Knows]->(a) RETURN count(*)",
            goal=0.7,
        ),
    )


def _pairs_with_a_friend(data: Data, some: NDArray[np.int64]) -> tuple[Mapping[str, str], ...]:
    """Return pairs of people who both know somebody: any two would have nobody in common."""
    pairs = []
    for one in some:
        friend = data.targets[data.sources == one][0]
        knowing = data.sources[data.targets == friend]
        pairs.append({"k": person(knowing[0]), "m": person(knowing[-1])})
    return tuple(pairs)


def _key(raw: RawTables, values: Values) -> Rows:
    return listed(raw.people_where(f"id = '{values['k']}'", ["age", "city"]))


def _one_hop(raw: RawTables, values: Values) -> Rows:
    friends = raw.ends_where(f"src = '{values['k']}'", "dst")
    return listed(raw.people_where(among("id", friends), ["id", "age"]))


def _two_hops(raw: RawTables, values: Values) -> Rows:
    friends = raw.ends_where(f"src = '{values['k']}'", "dst")
    counted = pc.value_counts(pa.array(raw.ends_where(among("src", friends), "dst"), pa.string()))
    return [(found["values"], found["counts"]) for found in counted.to_pylist()]


def _reach(raw: RawTables, values: Values) -> Rows:
    seen = newest = {values["k"]}
    for _ in range(3):
        newest = set(raw.ends_where(among("src", sorted(newest)), "dst")) - seen
        seen = seen | newest
    return [(len(seen) - 1,)]


def _mutual(raw: RawTables, values: Values) -> Rows:
    one, other = (set(raw.ends_where(f"src = '{values[name]}'", "dst")) for name in ("k", "m"))
    return [(name,) for name in one & other]


def _triangles(raw: RawTables, values: Values) -> Rows:
    friends = raw.ends_where(f"src = '{values['k']}'", "dst")
    admirers = set(raw.ends_where(f"dst = '{values['k']}'", "src"))
    return [(sum(end in admirers for end in raw.ends_where(among("src", friends), "dst")),)]


def _aggregate_one(raw: RawTables, _: Values) -> Rows:
    ages, first = _ages(raw), _edges_of_old(raw)
    ends = first.join(ages, "dst", "id", join_type="inner")
    return [(ends.num_rows, pc.sum(ends["age"]).as_py())]


def _aggregate_two(raw: RawTables, _: Values) -> Rows:
    """Count the ways to everybody after the first hop: nobody would list all paths."""
    ages = _ages(raw)
    ways = _edges_of_old(raw).group_by("dst").aggregate([([], "count_all")]).rename_columns(["src", "ways"])
    ends = raw.knows.to_table().join(ways, "src", join_type="inner").join(ages, "dst", "id", join_type="inner")
    return [(pc.sum(ends["ways"]).as_py(), pc.sum(pc.multiply(ends["ways"], ends["age"])).as_py())]


def _ages(raw: RawTables) -> pa.Table:
    return raw.people_where(None, ["id", "age"])


def _edges_of_old(raw: RawTables) -> pa.Table:
    old = raw.people_where(f"age > {OLD}", ["id"])
    return raw.knows.to_table().join(old, "src", "id", join_type="left semi")


def _oldest(raw: RawTables, _: Values) -> Rows:
    people = _ages(raw)
    best = pc.select_k_unstable(people, 10, [("age", "descending"), ("id", "ascending")])
    return listed(people.take(best))


def _by_city(raw: RawTables, _: Values) -> Rows:
    people = raw.people_where(None, ["city", "age"])
    return listed(people.group_by("city").aggregate([([], "count_all"), ("age", "sum")]))
