import gc
import threading

import pytest

from omnigraph.base import clock
from omnigraph.storage.locks.gates import Gate, Ticket, gate_of
from omnigraph.storage.locks.holder import Holder


def ticket(operation: str = "test", *, shared: bool = False) -> Ticket:
    return Ticket(holder=Holder.here(operation), is_shared=shared)


def test_the_same_name_of_the_same_root_is_the_same_gate():
    gate = gate_of("/root", "branch/main")

    assert gate_of("/root", "branch/main") is gate
    assert gate_of("/root", "branch/other") is not gate
    assert gate_of("/other", "branch/main") is not gate


def test_a_gate_that_nobody_uses_is_forgotten():
    before = id(gate_of("/root", "unused"))
    keep = Gate()  # takes the freed memory, so that a new gate cannot get the same address
    gc.collect()

    assert id(gate_of("/root", "unused")) != before
    assert keep.holder() is None


def test_an_exclusive_ticket_keeps_everybody_out():
    gate, inside = Gate(), ticket("first")
    assert gate.enter(inside, wait_seconds=0)

    assert not gate.enter(ticket(), wait_seconds=0.01)
    assert not gate.enter(ticket(shared=True), wait_seconds=0.01)
    assert gate.holder() == inside.holder

    gate.leave(inside)
    assert gate.holder() is None
    assert gate.enter(ticket(), wait_seconds=0)


def test_shared_tickets_stand_beside_each_other_and_keep_an_exclusive_one_out():
    gate, one, two = Gate(), ticket(shared=True), ticket(shared=True)

    assert gate.enter(one, wait_seconds=0)
    assert gate.enter(two, wait_seconds=0)
    assert not gate.enter(ticket(), wait_seconds=0.01)

    gate.leave(one)
    assert not gate.enter(ticket(), wait_seconds=0.01)
    gate.leave(two)
    assert gate.enter(ticket(), wait_seconds=0)


def wait_for_queue(gate: Gate, length: int) -> None:
    assert clock.wait_until(lambda: len(gate._waiting) == length, timeout_seconds=10)


def start_waiting(gate: Gate, waiting: Ticket, entered: list[str]) -> threading.Thread:
    def wait() -> None:
        assert gate.enter(waiting, wait_seconds=30)
        entered.append(waiting.holder.operation)
        gate.leave(waiting)

    length = len(gate._waiting)
    thread = threading.Thread(target=wait)
    thread.start()
    wait_for_queue(gate, length + 1)
    return thread


def test_tickets_enter_in_the_order_of_their_arrival():
    gate, first, entered = Gate(), ticket(), []
    gate.enter(first, wait_seconds=0)
    threads = [start_waiting(gate, ticket(str(number)), entered) for number in range(8)]

    gate.leave(first)
    for thread in threads:
        thread.join()

    assert entered == [str(number) for number in range(8)]


def test_a_shared_ticket_does_not_overtake_a_waiting_exclusive_one():
    gate, reader, entered = Gate(), ticket(shared=True), []
    gate.enter(reader, wait_seconds=0)
    writer = start_waiting(gate, ticket("writer"), entered)
    late_reader = start_waiting(gate, ticket("late reader", shared=True), entered)

    gate.leave(reader)
    writer.join()
    late_reader.join()

    assert entered == ["writer", "late reader"]


def test_who_gives_up_does_not_block_those_behind():
    gate, inside, entered = Gate(), ticket(shared=True), []
    gate.enter(inside, wait_seconds=0)
    impatient = threading.Thread(target=gate.enter, args=(ticket(),), kwargs={"wait_seconds": 0.3})
    impatient.start()
    wait_for_queue(gate, 1)

    patient = start_waiting(gate, ticket("patient", shared=True), entered)
    impatient.join()
    patient.join()

    assert entered == ["patient"]


def test_an_interrupted_wait_leaves_the_queue(monkeypatch):
    gate, inside = Gate(), ticket()
    gate.enter(inside, wait_seconds=0)

    def interrupt(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(gate._changed, "wait_for", interrupt)
        with pytest.raises(KeyboardInterrupt):
            gate.enter(ticket(), wait_seconds=1)

    gate.leave(inside)
    assert gate.enter(ticket(), wait_seconds=0)
