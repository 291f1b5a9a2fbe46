"""Locks between handles, threads and real processes, on files and on S3.

Leases live three seconds here; the store counts whole seconds, so a dead holder is followed after four.
"""

import json
import os
import threading

import pytest

from omnigraph.base import clock
from omnigraph.errors import BranchBusy, Effect, StorageError
from omnigraph.storage.locks import LeaseLost, LeaseTerms, LockRequest, LockService, Reach, StoreClock, open_locks
from omnigraph.storage.locks.paths import lock_path
from omnigraph.storage.objects import ControlStore, open_objects
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.uris import GraphRoot
from support.faulty_s3 import Answer, LoseAnswer
from support.processes import Child, child

MAIN = "branch/main"
TERMS = LeaseTerms(ttl_seconds=3.0, renew_seconds=0.4, margin_seconds=0.5)

# Takes one lock and obeys; its wall clock can be set off by a number of seconds.
HOLDER = """
    import os, sys, time
    offset_ns = int(sys.argv[3]) * 1_000_000_000
    real_time_ns = time.time_ns
    time.time_ns = lambda: real_time_ns() + offset_ns
    time.time = lambda: time.time_ns() / 1e9

    from omnigraph.errors import BranchBusy
    from omnigraph.storage.locks import LeaseLost, LeaseTerms, open_locks
    from omnigraph.storage.objects import open_objects
    from omnigraph.storage.settings import StoreSettings
    from omnigraph.storage.uris import GraphRoot

    root = GraphRoot.parse(sys.argv[1])
    objects = open_objects(root, StoreSettings.resolve(root, None, os.environ))
    terms = LeaseTerms(ttl_seconds=3.0, renew_seconds=0.4, margin_seconds=0.5)
    locks = open_locks(root, objects, terms=terms)
    print("ready")
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        if command == "acquire":
            try:
                held = locks.acquire(sys.argv[2], operation="child", wait_seconds=float(argument))
                print("held")
            except BranchBusy:
                print("busy")
        elif command == "check":
            try:
                held.ensure_seconds_left()
                print("ours")
            except LeaseLost:
                print("lost")
        elif command == "release":
            held.release()
            print("released")
        elif command == "count":
            for _ in range(int(argument)):
                with locks.acquire(sys.argv[2], operation="child", wait_seconds=60):
                    stored = objects.read("counter")
                    objects.put("counter", str(int(stored.content) + 1).encode())
            print("counted")
"""


def holder(uri: str, *, name: str = MAIN, clock_offset: int = 0):
    return child(HOLDER, uri, name, str(clock_offset))


def acquire_in(process: Child, *, wait_seconds: float = 30) -> None:
    assert process.hear() == "ready"
    process.tell(f"acquire {wait_seconds}")
    assert process.hear() == "held"


def objects_at(uri: str) -> ControlStore:
    root = GraphRoot.parse(uri)
    return open_objects(root, StoreSettings.resolve(root, None, os.environ))


def locks_at(uri: str) -> LockService:
    return open_locks(GraphRoot.parse(uri), objects_at(uri), terms=TERMS)


@pytest.fixture
def locks(store_root) -> LockService:
    return locks_at(store_root)


def test_a_released_lock_can_be_taken_again(locks):
    for _ in range(3):
        with locks.acquire(MAIN, operation="test", wait_seconds=0) as held:
            held.ensure_seconds_left()


def test_releasing_twice_does_not_release_the_next_holder(locks):
    first = locks.acquire(MAIN, operation="first", wait_seconds=0)
    first.release()
    with locks.acquire(MAIN, operation="second", wait_seconds=0):
        first.release()

        with pytest.raises(BranchBusy):
            locks.acquire(MAIN, operation="third", wait_seconds=0)


def test_different_names_do_not_exclude_each_other(locks):
    names = [MAIN, "branch/a", "branch/a.json/b", "branch/a/b", "schema", "maintenance"]
    held = [locks.acquire(name, operation="test", wait_seconds=0) for name in names]

    assert [locks.holder(name, store_clock=None).operation for name in names] == ["test"] * len(names)
    for lock in held:
        lock.release()


def test_two_handles_of_one_process_exclude_each_other(store_root):
    one, two = locks_at(store_root), locks_at(store_root)

    with one.acquire(MAIN, operation="load 1", wait_seconds=0), pytest.raises(BranchBusy) as caught:
        two.acquire(MAIN, operation="load 2", wait_seconds=0.05)

    assert caught.value.details["branch"] == "main"
    assert f"load 1 in process {os.getpid()}" in caught.value.details["holder"]


def test_two_spellings_of_one_local_root_exclude_each_other(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    real, link = locks_at(str(tmp_path / "real")), locks_at(str(tmp_path / "link"))

    with real.acquire(MAIN, operation="one", wait_seconds=0), pytest.raises(BranchBusy):
        link.acquire(MAIN, operation="two", wait_seconds=0)


def test_another_process_is_named_when_the_wait_is_over(locks, store_root):
    with holder(store_root) as other:
        acquire_in(other)

        with pytest.raises(BranchBusy) as caught:
            locks.acquire(MAIN, operation="load", wait_seconds=0.3)

    error = caught.value
    assert error.details["branch"] == "main"
    assert f"child in process {other.pid}" in error.details["holder"]
    assert error.details["since"]
    assert f"process {other.pid}" in error.message
    assert error.effect is Effect.NONE


def test_a_lock_given_back_by_another_process_goes_to_who_waits(locks, store_root):
    with holder(store_root) as other:
        acquire_in(other)
        release = threading.Timer(0.3, other.tell, ["release"])
        release.start()

        with locks.acquire(MAIN, operation="load", wait_seconds=30) as held:
            assert held.expired_seconds_ago is None
        release.join()


def test_a_failed_acquire_gives_its_gate_back(locks, store_root):
    with holder(store_root) as other:
        acquire_in(other)
        with pytest.raises(BranchBusy):
            locks.acquire(MAIN, operation="load", wait_seconds=0)
        other.tell("release")
        assert other.hear() == "released"

        locks.acquire(MAIN, operation="load", wait_seconds=0).release()


def test_processes_take_turns(store_root):
    """Each child reads, adds one and writes back under the lock; without exclusion some additions would be lost."""
    objects = objects_at(store_root)
    objects.put("counter", b"0")
    with holder(store_root) as one, holder(store_root) as two, holder(store_root) as three:
        children = (one, two, three)
        for process in children:
            assert process.hear() == "ready"
        for process in children:
            process.tell("count 4")
        assert [process.hear() for process in children] == ["counted"] * 3

    assert objects.read("counter").content == b"12"


def test_a_killed_holders_local_lock_is_free_at_once(local_root):
    with holder(local_root) as other:
        acquire_in(other)
        other.kill()

    with locks_at(local_root).acquire(MAIN, operation="load", wait_seconds=0) as held:
        assert held.expired_seconds_ago is None


def test_a_paused_holder_keeps_its_local_lock(local_root):
    with holder(local_root) as other:
        acquire_in(other)
        other.pause()

        with pytest.raises(BranchBusy):
            locks_at(local_root).acquire(MAIN, operation="load", wait_seconds=4.5)  # a lease would have expired

        other.resume()
        other.tell("check")
        assert other.hear() == "ours"


@pytest.mark.s3
def test_a_killed_holders_lease_is_taken_over_after_it_expired(s3_root):
    locks, objects = locks_at(s3_root), objects_at(s3_root)
    with holder(s3_root) as other:
        acquire_in(other)
        other.kill()
    with pytest.raises(BranchBusy):
        locks.acquire(MAIN, operation="load", wait_seconds=0)

    with locks.acquire(MAIN, operation="load", wait_seconds=15) as held:
        assert held.expired_seconds_ago >= 0
        assert json.loads(objects.read(lock_path(MAIN)).content)["token"] == 2
        held.ensure_seconds_left()

    assert objects.read(lock_path(MAIN)) is None


@pytest.mark.s3
def test_a_paused_holder_loses_its_lease_and_learns_it_when_it_wakes_up(s3_root):
    locks = locks_at(s3_root)
    with holder(s3_root) as other:
        acquire_in(other)
        other.pause()

        with locks.acquire(MAIN, operation="load", wait_seconds=15) as held:
            other.resume()
            other.tell("check")
            assert other.hear() == "lost"
            other.tell("release")
            assert other.hear() == "released"

            held.ensure_seconds_left()
            assert locks.holder(MAIN, store_clock=None).pid == os.getpid()


@pytest.mark.s3
@pytest.mark.slow
def test_of_two_who_wait_for_an_expired_lease_one_gets_it(s3_root):
    with holder(s3_root) as dead, holder(s3_root) as one, holder(s3_root) as two:
        acquire_in(dead)
        assert (one.hear(), two.hear()) == ("ready", "ready")
        dead.kill()

        one.tell("acquire 8")
        two.tell("acquire 8")

        assert sorted([one.hear(), two.hear()]) == ["busy", "held"]


@pytest.mark.s3
@pytest.mark.slow
@pytest.mark.parametrize("clock_offset", [-3_600, 3_600])
def test_a_wrong_wall_clock_neither_steals_a_live_lease_nor_spares_an_expired_one(s3_root, clock_offset):
    locks = locks_at(s3_root)
    with holder(s3_root, clock_offset=clock_offset) as wrong:
        assert wrong.hear() == "ready"
        with locks.acquire(MAIN, operation="load", wait_seconds=0) as held:
            wrong.tell("acquire 6")  # longer than a lease lives without its renewals
            assert wrong.hear() == "busy"
            held.ensure_seconds_left()

        wrong.tell("acquire 6")
        assert wrong.hear() == "held"
        wrong.kill()
    with locks.acquire(MAIN, operation="load", wait_seconds=15) as held:
        assert 0 <= held.expired_seconds_ago < 10


@pytest.mark.s3
def test_a_lease_is_renewed_as_long_as_it_is_held(s3_root):
    locks, objects = locks_at(s3_root), objects_at(s3_root)

    def renewals() -> int:
        return json.loads(objects.read(lock_path(MAIN)).content)["renewals"]

    with locks.acquire(MAIN, operation="load", wait_seconds=0) as held:
        assert clock.wait_until(lambda: renewals() >= 8, timeout_seconds=30)  # 3.2 s, more than its life
        held.ensure_seconds_left()
        assert json.loads(objects.read(lock_path(MAIN)).content)["token"] == 1


@pytest.mark.s3
def test_a_lease_that_cannot_be_renewed_runs_out_before_the_store_forgets_it(s3_root, s3_faults):
    locks = locks_at(s3_root)
    held = locks.acquire(MAIN, operation="load", wait_seconds=0)
    s3_faults.break_next(Answer(403), path_contains="/__locks/", times=1_000)

    def is_refused() -> bool:
        try:
            held.ensure_seconds_left()
        except LeaseLost:
            return True
        return False

    assert clock.wait_until(is_refused, timeout_seconds=10)
    s3_faults.rules.clear()
    stored = objects_at(s3_root).read(lock_path(MAIN))
    store_clock = StoreClock.observe(objects_at(s3_root))
    assert store_clock.seconds_past_expiry(last_modified=stored.last_modified, ttl_seconds=TERMS.ttl_seconds) < 0
    held.release()


@pytest.mark.s3
def test_a_short_outage_does_not_cost_the_lease(s3_root, s3_faults):
    with locks_at(s3_root).acquire(MAIN, operation="load", wait_seconds=0) as held:
        s3_faults.break_next(Answer(403), method="GET", path_contains="/__locks/", times=2)
        asked = len(s3_faults.requests(method="PUT"))

        assert clock.wait_until(lambda: len(s3_faults.requests(method="PUT")) >= asked + 2, timeout_seconds=10)
        held.ensure_seconds_left(1.0)


@pytest.mark.s3
def test_losing_the_margin_is_told_with_what_is_left(s3_root):
    locks = locks_at(s3_root)

    with (
        locks.acquire(MAIN, operation="load", wait_seconds=0) as held,
        pytest.raises(LeaseLost, match=r"lease on branch/main has only [23]\.\d seconds left") as caught,
    ):
        held.ensure_seconds_left(15)

    assert caught.value.effect is Effect.UNKNOWN
    assert caught.value.is_transient


@pytest.mark.s3
def test_a_lease_whose_creation_was_not_acknowledged_is_held(s3_root, s3_faults):
    s3_faults.break_next(LoseAnswer(), method="PUT", only_conditional=True)

    with locks_at(s3_root).acquire(MAIN, operation="load", wait_seconds=0) as held:
        held.ensure_seconds_left()
        assert len(s3_faults.requests(method="PUT")) == 1


@pytest.mark.s3
def test_a_renewal_that_was_not_acknowledged_does_not_lose_the_lease(s3_root, s3_faults):
    with locks_at(s3_root).acquire(MAIN, operation="load", wait_seconds=0) as held:
        s3_faults.break_next(LoseAnswer(), method="PUT", only_conditional=True, times=3)

        assert clock.wait_until(lambda: len(s3_faults.requests(method="PUT")) >= 8, timeout_seconds=20)
        held.ensure_seconds_left()


@pytest.mark.s3
def test_a_release_that_fails_is_no_error_and_the_lease_expires(s3_root, s3_faults, caplog):
    locks = locks_at(s3_root)
    held = locks.acquire(MAIN, operation="load", wait_seconds=0)
    s3_faults.break_next(Answer(403), method="DELETE")

    held.release()

    assert [record.message for record in caplog.records] == ["lease not released, it will expire"]
    with locks.acquire(MAIN, operation="load", wait_seconds=15) as taken:
        assert taken.expired_seconds_ago >= 0


@pytest.mark.s3
def test_a_lease_that_cannot_be_read_is_never_taken_over(s3_root):
    objects_at(s3_root).put(lock_path(MAIN), b"{}")

    with pytest.raises(StorageError, match="not a lease") as caught:
        locks_at(s3_root).acquire(MAIN, operation="load", wait_seconds=1)

    assert caught.value.details["storage_kind"] == "permanent"
    assert objects_at(s3_root).read(lock_path(MAIN)).content == b"{}"


def test_a_free_lock_has_no_holder(locks):
    assert locks.holder(MAIN, store_clock=None) is None

    locks.acquire(MAIN, operation="load", wait_seconds=0).release()

    assert locks.holder(MAIN, store_clock=None) is None


def test_the_holder_is_seen_without_waiting_or_writing(locks, store_root):
    with holder(store_root) as other:
        acquire_in(other)
        paths = objects_at(store_root).list("")

        seen = locks.holder(MAIN, store_clock=None)

        assert (seen.pid, seen.operation) == (other.pid, "child")
        assert objects_at(store_root).list("") == paths


@pytest.mark.s3
def test_an_expired_holder_counts_only_for_who_has_no_clock(s3_root):
    locks, objects = locks_at(s3_root), objects_at(s3_root)
    with holder(s3_root) as other:
        acquire_in(other)
        other.kill()
    store_clock = StoreClock.observe(objects)

    assert locks.holder(MAIN, store_clock=store_clock) is not None
    assert clock.wait_until(lambda: locks.holder(MAIN, store_clock=store_clock) is None, timeout_seconds=15)
    assert locks.holder(MAIN, store_clock=None) is not None


def test_the_local_lock_file_says_who_and_stays(local_root):
    path = GraphRoot.parse(local_root).local_path / "__locks" / "branch" / "main.json"

    with locks_at(local_root).acquire(MAIN, operation="load", wait_seconds=0):
        said = json.loads(path.read_bytes())
        inode = path.stat().st_ino

    assert (said["pid"], said["operation"]) == (os.getpid(), "load")
    assert set(said) == {"host", "pid", "operation", "since"}
    assert (path.stat().st_ino, path.stat().st_size) == (inode, 0)


def test_several_claims_are_taken_together_or_not_at_all(locks, store_root):
    claims = [LockRequest(name="branch/a"), LockRequest(name=MAIN)]
    with holder(store_root) as other:
        acquire_in(other)
        with pytest.raises(BranchBusy) as caught:
            locks.acquire_all(claims, operation="merge", wait_seconds=0)
        locks.acquire("branch/a", operation="test", wait_seconds=0).release()

        other.tell("release")
        assert other.hear() == "released"
        with locks.acquire_all(claims, operation="merge", wait_seconds=0):
            assert locks.holder("branch/a", store_clock=None).operation == "merge"
            assert locks.holder(MAIN, store_clock=None).operation == "merge"

    assert caught.value.details["branch"] == "main"


def test_all_gates_are_entered_before_any_cross_process_lock(locks):
    """Otherwise a process could wait for itself while it keeps others out."""
    first, second = LockRequest(name="branch/a"), LockRequest(name="branch/b")
    with locks.acquire_all([LockRequest(name="branch/b", reach=Reach.IN_PROCESS)], operation="test", wait_seconds=0):
        with pytest.raises(BranchBusy):
            locks.acquire_all([first, second], operation="merge", wait_seconds=0.05)

        assert locks.holder("branch/a", store_clock=None) is None


def test_an_in_process_claim_is_not_seen_by_other_processes(locks, store_root):
    claim = LockRequest(name=MAIN, reach=Reach.IN_PROCESS)
    with locks.acquire_all([claim], operation="test", wait_seconds=0) as held, holder(store_root) as other:
        acquire_in(other, wait_seconds=0)

        held.ensure_seconds_left(1_000)
        with pytest.raises(BranchBusy):
            locks.acquire_all([claim], operation="test", wait_seconds=0)


def test_shared_claims_keep_only_exclusive_ones_out(locks):
    shared = LockRequest(name="schema", reach=Reach.IN_PROCESS_SHARED)
    with (
        locks.acquire_all([shared], operation="write 1", wait_seconds=0),
        locks.acquire_all([shared], operation="write 2", wait_seconds=0),
        pytest.raises(BranchBusy),
    ):
        locks.acquire("schema", operation="apply", wait_seconds=0.05)

    with locks.acquire("schema", operation="apply", wait_seconds=0), pytest.raises(BranchBusy):
        locks.acquire_all([shared], operation="write 3", wait_seconds=0.05)


def test_a_lock_file_that_cannot_be_made_is_loud(local_root):
    objects_at(local_root).create("__locks/branch", b"a file where a directory belongs")

    with pytest.raises(StorageError, match="lock file"):
        locks_at(local_root).acquire(MAIN, operation="load", wait_seconds=0)


def test_the_observed_clock_is_the_stores_and_never_ahead_of_it(store_root):
    objects = objects_at(store_root)
    store_clock = StoreClock.observe(objects)
    objects.put("later.json", b"{}")

    written = objects.read("later.json").last_modified

    assert -3 < store_clock.seconds_past_expiry(last_modified=written, ttl_seconds=0) < 0


@pytest.mark.s3
def test_a_dead_holder_is_waited_out_however_short_the_wait_and_the_wait_is_told(s3_root):
    notes = []
    with holder(s3_root) as other:
        acquire_in(other)
        other.kill()

    with locks_at(s3_root).acquire(MAIN, operation="load", wait_seconds=2.0, events=notes.append) as held:
        assert held.expired_seconds_ago >= 0

    assert "waiting for branch main: child in process" in notes[0].message
    assert "seems dead" in notes[-1].message


@pytest.mark.s3
def test_a_live_holder_is_waited_for_as_long_as_was_asked_and_not_longer(s3_root):
    notes = []
    with holder(s3_root) as other:
        acquire_in(other)

        with pytest.raises(BranchBusy, match="within 2 seconds"):
            locks_at(s3_root).acquire(MAIN, operation="load", wait_seconds=2.0, events=notes.append)

        assert [note.message.partition(":")[0] for note in notes] == ["waiting for branch main"]
        other.tell("check")
        assert other.hear() == "ours"


@pytest.mark.s3
def test_who_would_not_wait_at_all_still_outlives_a_holder_that_missed_its_renewal(s3_root):
    locks = locks_at(s3_root)
    with holder(s3_root) as other:
        acquire_in(other)
        other.kill()
    assert clock.wait_until(lambda: locks._locks.seconds_to_outlive(MAIN) is not None, timeout_seconds=30)

    with locks.acquire(MAIN, operation="optimize", wait_seconds=0) as held:
        assert held.expired_seconds_ago >= 0
