"""The contract of control objects, on every store, and what each store adds to it."""

import errno
import os
import threading
from pathlib import Path

import pytest

from omnigraph.base import clock, ids
from omnigraph.errors import Effect, StorageError
from omnigraph.storage.objects import ControlStore, ObjectChanged, ObjectExists, open_objects
from omnigraph.storage.settings import StoreSettings
from omnigraph.storage.uris import GraphRoot
from support.faulty_s3 import Answer, IgnoreConditions, LoseAnswer, LoseRequest
from support.processes import child


def objects_at(uri: str) -> ControlStore:
    root = GraphRoot.parse(uri)
    return open_objects(root, StoreSettings.resolve(root, None, os.environ))


@pytest.fixture
def objects(store_root) -> ControlStore:
    return objects_at(store_root)


@pytest.fixture
def local(local_root) -> ControlStore:
    return objects_at(local_root)


@pytest.fixture
def remote(s3_root, s3_faults) -> ControlStore:
    """Control objects on S3, behind the proxy `s3_faults`."""
    return objects_at(s3_root)


def all_files(directory: str) -> set[str]:
    root = Path(directory)
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_a_created_object_reads_back(objects):
    token = objects.create("a/b.json", b"one")

    stored = objects.read("a/b.json")

    assert stored is not None
    assert (stored.content, stored.token) == (b"one", token)


def test_an_absent_object_reads_as_none(objects):
    assert objects.read("a/b.json") is None


def test_an_empty_object_is_not_an_absent_one(objects):
    objects.create("a.json", b"")

    stored = objects.read("a.json")

    assert stored is not None
    assert stored.content == b""


def test_create_refuses_an_existing_object_even_with_equal_content(objects):
    objects.create("a.json", b"one")

    with pytest.raises(ObjectExists):
        objects.create("a.json", b"one")

    assert objects.read("a.json").content == b"one"


def test_replace_overwrites_what_the_token_names(objects):
    first = objects.create("a.json", b"one")

    second = objects.replace("a.json", b"two", first)

    assert objects.read("a.json").content == b"two"
    assert objects.replace("a.json", b"three", second)


def test_replace_refuses_a_stale_token(objects):
    stale = objects.create("a.json", b"one")
    objects.replace("a.json", b"two", stale)

    with pytest.raises(ObjectChanged):
        objects.replace("a.json", b"three", stale)

    assert objects.read("a.json").content == b"two"


def test_replace_does_not_bring_a_deleted_object_back(objects):
    token = objects.create("a.json", b"one")
    objects.delete("a.json")

    with pytest.raises(ObjectChanged):
        objects.replace("a.json", b"two", token)

    assert objects.read("a.json") is None


def test_put_writes_whatever_was_there(objects):
    objects.put("a.json", b"one")
    objects.put("a.json", b"two")

    assert objects.read("a.json").content == b"two"


def test_delete_removes_and_is_content_with_absence(objects):
    objects.create("a/b.json", b"one")

    objects.delete("a/b.json")
    objects.delete("a/b.json")
    objects.delete("never/was.json")

    assert objects.read("a/b.json") is None


@pytest.mark.parametrize("prefix", ["a", "a/"])
def test_list_names_everything_below_a_directory_in_order(objects, prefix):
    for path in ("a/2.json", "a/1.json", "a/deeper/3.json", "ab/4.json", "5.json"):
        objects.create(path, b"{}")

    assert objects.list(prefix) == ("a/1.json", "a/2.json", "a/deeper/3.json")


@pytest.mark.parametrize("count", [1, 3, 40])
def test_sizes_of_some_objects_leave_out_those_that_are_absent(objects, count):
    paths = [f"d{number % 2}/{number}.json" for number in range(count)]
    for path in (*paths, "d0/other.json"):
        objects.put(path, path.encode())

    found = objects.sizes_of([*paths, "d0/absent.json", "nowhere/absent.json"])

    assert found == {path: len(path) for path in paths}
    assert objects.sizes_of([]) == {}


def test_delete_all_removes_what_is_there_and_leaves_the_rest(objects):
    for path in ("a/1.json", "a/2.json", "data/blob/3.json", "kept.json"):
        objects.put(path, b"x")

    objects.delete_all(["a/1.json", "data/blob/3.json", "a/absent.json", "nowhere/absent.json"])
    objects.delete_all([])

    assert objects.list("") == ("a/2.json", "kept.json")


def test_a_glance_at_the_clock_writes_nothing(objects):
    objects.put("a.json", b"x")
    before = objects.facts("")

    seen = objects.glance_at_clock()

    assert seen == pytest.approx(clock.now_us() / 1_000_000, abs=60)
    assert objects.facts("") == before


def test_list_of_an_absent_directory_is_empty(objects):
    assert objects.list("__recovery") == ()


def test_objects_of_one_graph_are_invisible_to_its_neighbours(store_root):
    objects_at(f"{store_root}/a").create("x.json", b"one")

    assert objects_at(f"{store_root}/ab").list("") == ()
    assert objects_at(f"{store_root}/a").list("") == ("x.json",)


def test_last_modified_moves_with_every_write(objects):
    objects.put("a.json", b"one")
    before = objects.read("a.json").last_modified

    def has_moved() -> bool:
        objects.put("a.json", b"two")
        return objects.read("a.json").last_modified > before

    assert clock.wait_until(has_moved, timeout_seconds=10)  # S3 counts whole seconds


CREATOR = """
    import os, sys
    from omnigraph.storage.objects import ObjectExists, open_objects
    from omnigraph.storage.settings import StoreSettings
    from omnigraph.storage.uris import GraphRoot

    root = GraphRoot.parse(sys.argv[1])
    objects = open_objects(root, StoreSettings.resolve(root, None, os.environ))
    print("ready")
    for line in sys.stdin:
        try:
            objects.create(line.strip(), str(os.getpid()).encode())
            print("won")
        except ObjectExists:
            print("lost")
"""


def test_of_two_racing_creators_exactly_one_wins(store_root):
    objects = objects_at(store_root)
    with child(CREATOR, store_root) as one, child(CREATOR, store_root) as two:
        assert (one.hear(), two.hear()) == ("ready", "ready")
        for attempt in range(20):
            path = f"race/{attempt}.json"
            one.tell(path)
            two.tell(path)
            outcomes = {one.pid: one.hear(), two.pid: two.hear()}

            winner = int(objects.read(path).content)
            assert sorted(outcomes.values()) == ["lost", "won"]
            assert outcomes[winner] == "won"


def test_of_many_racing_replacers_each_success_sees_the_one_before(objects):
    """Every thread adds one to a counter by compare-and-swap; a lost update would leave the sum short."""
    objects.create("counter", b"0")
    threads_count, each = 4, 10

    def add() -> None:
        for _ in range(each):
            while True:
                stored = objects.read("counter")
                try:
                    objects.replace("counter", str(int(stored.content) + 1).encode(), stored.token)
                    break
                except ObjectChanged:
                    continue

    threads = [threading.Thread(target=add) for _ in range(threads_count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert objects.read("counter").content == str(threads_count * each).encode()


def test_the_probe_passes_and_leaves_nothing(objects):
    objects.probe()

    assert objects.list("") == ()


def test_the_probe_runs_once_per_process_and_root(s3_root, s3_faults):
    objects_at(s3_root).probe()
    asked = len(s3_faults.seen)

    objects_at(s3_root).probe()

    assert asked > 0
    assert len(s3_faults.seen) == asked


class TestOnFiles:
    def test_temporary_and_lock_files_are_hidden(self, local, local_root):
        local.create("a/1.json", b"{}")
        local.put("a/1.json", b"{}")
        Path(local_root, "a", ".tmp-left-by-a-crash").touch()

        assert local.list("") == ("a/1.json",)
        assert all_files(local_root) > {"a/.tmp-left-by-a-crash", "a/1.json"}

    def test_a_write_leaves_no_temporary_file(self, local, local_root):
        token = local.create("a.json", b"one")
        local.replace("a.json", b"two", token)
        with pytest.raises(ObjectExists):
            local.create("a.json", b"three")

        assert not [name for name in all_files(local_root) if ".tmp-" in name]

    @pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
    def test_a_file_system_without_hard_links_is_named_by_the_probe(self, local, monkeypatch, number):
        def refuse(*_: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "link", refuse)

        with pytest.raises(StorageError, match="hard links") as caught:
            local.probe()

        assert caught.value.details["storage_kind"] == "configuration"

    def test_a_failed_probe_is_not_remembered_as_a_success(self, local, monkeypatch):
        with monkeypatch.context() as broken:
            broken.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(errno.EPERM, "no")))
            with pytest.raises(StorageError):
                local.probe()
            with pytest.raises(StorageError):
                local.probe()

        local.probe()

    def test_a_directory_that_cannot_be_listed_is_loud(self, local, monkeypatch):
        local.create("__recovery/deep/1.json", b"{}")
        scandir = os.scandir

        def refuse_deep(path: object) -> object:
            if str(path).endswith("deep"):
                raise PermissionError(errno.EACCES, "Permission denied")
            return scandir(path)

        monkeypatch.setattr(os, "scandir", refuse_deep)

        with pytest.raises(StorageError, match=r"Listing .*Permission denied") as caught:
            local.list("__recovery")

        assert caught.value.details["storage_kind"] == "configuration"

    def test_a_file_where_a_directory_belongs_is_loud(self, local):
        local.create("__recovery", b"not a directory")

        with pytest.raises(StorageError):
            local.list("__recovery")
        with pytest.raises(StorageError):
            local.read("__recovery/1.json")

    def test_a_directory_where_an_object_belongs_is_loud(self, local):
        local.create("a/b.json", b"{}")

        with pytest.raises(StorageError, match="Reading"):
            local.read("a")

    def test_content_is_synced_before_its_name_appears(self, local, local_root, monkeypatch):
        """At the moment of `link` the file must have been synced, and afterwards its directory."""
        steps = []
        fsync, link = os.fsync, os.link
        monkeypatch.setattr(
            os, "fsync", lambda fd: (steps.append(Path(f"/proc/self/fd/{fd}").readlink().name), fsync(fd))
        )
        monkeypatch.setattr(os, "link", lambda *paths: (steps.append("link"), link(*paths)))
        Path(local_root).mkdir()

        local.create("a.json", b"one")

        assert [step[:5] for step in steps] == [".tmp-", "link", "graph"]

    def test_a_killed_writer_leaves_the_old_object_or_the_new_one(self, local, local_root):
        """The child rewrites an object without a pause and dies on the way, again and again."""
        code = """
            import os, sys
            from omnigraph.storage.objects import open_objects
            from omnigraph.storage.settings import StoreSettings
            from omnigraph.storage.uris import GraphRoot

            objects = open_objects(GraphRoot.parse(sys.argv[1]), StoreSettings())
            while True:
                objects.put("a.json", b"1" * 1_000_000)
                objects.put("a.json", b"2" * 1_000_000)
                print("wrote")
        """
        for writes in range(5):
            with child(code, local_root) as writer:
                for _ in range(1 + writes):
                    writer.hear()
                writer.kill()
            assert local.read("a.json").content in {b"1" * 1_000_000, b"2" * 1_000_000}
            local.put("a.json", b"1" * 1_000_000)  # the dead writer's lock is gone


@pytest.mark.s3
class TestOnS3:
    def test_list_follows_all_pages(self, s3_root):
        objects = objects_at(s3_root)
        paths = [f"many/{number:04}.json" for number in range(1_001)]  # a page has 1,000
        for path in paths:
            objects.put(path, b"")

        assert objects.list("many") == tuple(paths)

    @pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest(), Answer(503), Answer(500)], ids=repr)
    def test_a_create_with_a_lost_answer_or_request_succeeds_once(self, remote, s3_faults, fault):
        s3_faults.break_next(fault, method="PUT", only_conditional=True)

        token = remote.create("a.json", b"mine")

        stored = remote.read("a.json")
        assert (stored.content, stored.token) == (b"mine", token)

    @pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest(), Answer(503)], ids=repr)
    def test_a_replace_with_a_lost_answer_or_request_succeeds_once(self, remote, s3_faults, fault):
        first = remote.create("a.json", b"one")
        s3_faults.break_next(fault, method="PUT", only_conditional=True)

        second = remote.replace("a.json", b"two", first)

        stored = remote.read("a.json")
        assert (stored.content, stored.token) == (b"two", second)

    def test_a_lost_answer_is_looked_up_and_not_sent_again(self, remote, s3_faults):
        s3_faults.break_next(LoseAnswer(), method="PUT", only_conditional=True)

        remote.create("a.json", b"mine")

        assert [seen.method for seen in s3_faults.seen] == ["PUT", "GET"]

    def test_after_a_lost_request_somebody_elses_object_is_still_theirs(self, remote, s3_root, s3_faults):
        remote.create("a.json", b"theirs")
        s3_faults.break_next(LoseRequest(), method="PUT", only_conditional=True)

        with pytest.raises(ObjectExists):
            remote.create("a.json", b"mine")

        assert remote.read("a.json").content == b"theirs"

    def test_an_attempt_that_becomes_visible_late_is_recognised_in_the_refusal_of_the_next(self, remote, s3_faults):
        """The answer to the first put is lost, the look finds nothing yet, and the second put meets the first."""
        s3_faults.break_next(LoseAnswer(), method="PUT")
        s3_faults.break_next(Answer(404, code="NoSuchKey"), method="GET")

        token = remote.create("a.json", b"mine")

        stored = remote.read("a.json")
        assert (stored.content, stored.token) == (b"mine", token)
        assert [seen.method for seen in s3_faults.seen[:4]] == ["PUT", "GET", "PUT", "GET"]

    @pytest.mark.parametrize("status", [409, 412])
    def test_a_refusal_means_somebody_else(self, remote, s3_faults, status):
        token = remote.create("a.json", b"one")
        s3_faults.break_next(Answer(status), method="PUT", only_conditional=True, times=2)

        with pytest.raises(ObjectExists):
            remote.create("b.json", b"mine")
        with pytest.raises(ObjectChanged):
            remote.replace("a.json", b"two", token)

    def test_a_store_that_stays_away_gives_a_transient_error_of_unknown_effect(self, remote, s3_faults):
        s3_faults.break_next(LoseRequest(), method="PUT", times=100)

        with pytest.raises(StorageError) as caught:
            remote.create("a.json", b"mine")

        assert caught.value.is_transient
        assert caught.value.effect is Effect.UNKNOWN
        assert len(s3_faults.requests(method="PUT")) == 4

    def test_a_refusal_of_permission_has_no_effect_and_is_not_repeated(self, remote, s3_faults):
        s3_faults.break_next(Answer(403), method="PUT", times=100)

        with pytest.raises(StorageError) as caught:
            remote.create("a.json", b"mine")

        assert caught.value.details["storage_kind"] == "configuration"
        assert caught.value.effect is Effect.NONE
        assert len(s3_faults.requests(method="PUT")) == 1

    def test_a_read_rides_out_a_short_outage(self, remote, s3_faults):
        remote.create("a.json", b"one")
        s3_faults.break_next(Answer(503), method="GET", times=2)

        assert remote.read("a.json").content == b"one"

    @pytest.mark.parametrize("status", [400, 403, 404])
    def test_a_listing_that_fails_is_loud(self, remote, s3_faults, status):
        s3_faults.break_next(Answer(status), method="GET")

        with pytest.raises(StorageError, match="Listing"):
            remote.list("__recovery")

    def test_a_missing_bucket_is_not_an_empty_graph(self, s3_root):
        objects = objects_at(f"s3://bucket-{ids.new_ulid().lower()}/g.omni")

        for call in (lambda: objects.read("a"), lambda: objects.list("a"), lambda: objects.create("a", b"")):
            with pytest.raises(StorageError, match="no such bucket") as caught:
                call()
            assert caught.value.details["storage_kind"] == "configuration"

    def test_a_404_from_something_else_is_not_an_absent_object(self, remote, s3_faults):
        s3_faults.break_next(Answer(404), method="GET")

        with pytest.raises(StorageError):
            remote.read("a.json")

    @pytest.mark.parametrize("skip", [1, 3], ids=["create", "replace"])
    def test_a_store_that_ignores_conditions_is_named_by_the_probe(self, remote, s3_faults, skip):
        s3_faults.break_next(IgnoreConditions(), method="PUT", skip=skip, times=100)

        with pytest.raises(StorageError, match="can be read here but not written") as caught:
            remote.probe()

        assert caught.value.details["storage_kind"] == "configuration"
        assert remote.list("") == ()
