"""Writers of one process that change one branch take turns: none of them prepares for nothing, and none waits long."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import omnigraph
from omnigraph.graph import Graph
from omnigraph.writes import turns
from omnigraph.writes.turns import turn_on
from support.graphs import column, graph_of, load, node, rows
from support.sailing import change

SCHEMA = "node Sailor { name: String @key  age: I64? }"


@pytest.fixture
def crew(local_root: str) -> Graph:
    graph = graph_of(local_root, SCHEMA)
    load(graph, "append", node("Sailor", name="Ana", age=0))
    return graph


def test_many_threads_insert_and_none_of_them_is_refused(crew: Graph) -> None:
    def insert(number: int) -> str | None:
        result = change(crew, f'insert Sailor {{ name: "s{number}" }}')
        return result.commit and result.commit.graph_commit_id

    with ThreadPoolExecutor(12) as pool:
        commits = list(pool.map(insert, range(36)))

    assert len({commit for commit in commits if commit}) == 36
    assert set(rows(crew, "Sailor")) == {"Ana", *(f"s{number}" for number in range(36))}


def test_many_threads_update_the_same_row_and_each_sees_the_one_before(crew: Graph) -> None:
    """A strict write is refused when the branch moves while it prepares; in one process nobody moves it then."""

    def age(number: int) -> None:
        change(crew, f'update Sailor set {{ age: {number} }} where name = "Ana"')

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(age, range(1, 25)))

    history = [crew.snapshot(f"main~{back}").graph_version for back in range(24)]
    assert history == list(range(history[0], history[0] - 24, -1))
    assert column(crew, "Sailor", "age")["Ana"] in range(1, 25)


def test_handles_of_one_root_share_their_turns(crew: Graph) -> None:
    graphs = [crew, *(omnigraph.open(crew.uri) for _ in range(3))]

    def insert(number: int) -> None:
        change(graphs[number % 4], f'update Sailor set {{ age: {number + 1} }} where name = "Ana"')

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(insert, range(24)))

    assert column(crew, "Sailor", "age")["Ana"] in range(1, 25)


def test_turns_come_in_the_order_of_arrival() -> None:
    order: list[int] = []
    threads = []

    def wait_for_turn(number: int) -> None:
        with turn_on("root", "main"):
            order.append(number)

    with turn_on("root", "main"):
        for number in range(6):
            thread = threading.Thread(target=wait_for_turn, args=(number,))
            thread.start()
            threads.append(thread)
            thread.join(0.05)  # it waits now, behind those before it
        assert order == []
    for thread in threads:
        thread.join(10)

    assert order == list(range(6))


def test_who_prepares_for_long_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "TURN_SECONDS", 0.05)
    passed = threading.Event()

    def follow() -> None:
        with turn_on("root", "main"):
            passed.set()

    with turn_on("root", "main"):
        thread = threading.Thread(target=follow)
        thread.start()
        assert passed.wait(10)
    thread.join(10)


def test_who_holds_its_gates_keeps_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "TURN_SECONDS", 0.01)
    passed = threading.Event()

    def follow() -> None:
        with turn_on("root", "main"):
            passed.set()

    with turn_on("root", "main") as turn:
        turn.keep()
        thread = threading.Thread(target=follow)
        thread.start()
        assert not passed.wait(0.2)
    assert passed.wait(10)
    thread.join(10)


def test_a_write_inside_another_of_the_same_thread_waits_for_nobody() -> None:
    with turn_on("root", "main") as outer:
        outer.keep()
        with turn_on("root", "main"):
            pass
        reached = True

    assert reached


def test_branches_and_graphs_have_turns_of_their_own() -> None:
    with turn_on("root", "main"):
        for other in (("root", "side"), ("another", "main")):
            thread = threading.Thread(target=lambda key=other: turn_on(*key).__enter__())
            thread.start()
            thread.join(1)
            assert not thread.is_alive()
