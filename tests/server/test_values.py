"""Values over HTTP: every type in rows, blobs with ranges, changes and stored queries."""

import base64
import json

import pytest

from support.served import Declared, ServedApp, make_cluster, served_app

SCHEMA = """
node Thing {
    name: String @key
    flag: Bool?
    small: I32?
    big: I64?
    huge: U64?
    half: F32?
    real: F64?
    day: Date?
    moment: DateTime?
    words: [String]?
    data: Blob?
}
"""
BYTES = bytes(range(256)) * 40
SEED = "".join(
    json.dumps({"type": "Thing", "data": data}) + "\n"
    for data in (
        {
            "name": "all",
            "flag": True,
            "small": -5,
            "big": 9_007_199_254_740_993,
            "huge": 18_446_744_073_709_551_615,
            "half": 0.1,
            "real": 0.1,
            "day": "2026-02-14",
            "moment": "2026-02-14T10:00:00Z",
            "words": ["ice", "é"],
            "data": "base64:" + base64.b64encode(BYTES).decode(),
        },
        {"name": "none"},
        {"name": "empty", "data": "base64:"},
    )
)
QUERIES = """
query one($n: String) { match { $t: Thing { name: $n } } return { $t.name, $t.big, $t.half, $t.moment } }
query typed($a: Bool, $b: I32, $c: I64, $d: F64, $e: Date, $f: DateTime?, $g: [String], $h: Blob) {
    insert Thing { name: "typed", flag: $a, small: $b, big: $c, real: $d, day: $e, moment: $f, words: $g, data: $h }
}
"""
BLOB = "/graphs/things/blob?entity=node&type=Thing&property=data&id="


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("values") / "cluster"
    root.mkdir()
    declared = Declared(schema=SCHEMA, seed=SEED, queries=QUERIES, query_names=("one", "typed"))
    make_cluster(str(root), {"things": declared})
    app = served_app(str(root), environ={}, unauthenticated=True)
    yield app
    app.close()


def ask(app: ServedApp, method: str, path: str, body=None, **more):
    return app.ask(method, path, body, actor=None, **more)


def test_values_are_what_the_language_says(things: ServedApp) -> None:
    returned = ", ".join(
        f"$t.{name}" for name in ["flag", "small", "big", "huge", "half", "real", "day", "moment", "words"]
    )
    query = f'query q() {{ match {{ $t: Thing {{ name: "all" }} }} return {{ {returned} }} }}'

    for _ in range(3):  # in a thread at first, at hand afterwards
        answer = ask(things, "POST", "/graphs/things/query", {"query": query})

    assert answer.json()["rows"] == [
        {
            "t.flag": True,
            "t.small": -5,
            "t.big": 9_007_199_254_740_993,
            "t.huge": 18_446_744_073_709_551_615,
            "t.half": 0.1,
            "t.real": 0.1,
            "t.day": "2026-02-14",
            "t.moment": "2026-02-14T10:00:00.000Z",
            "t.words": ["ice", "é"],
        }
    ]
    assert '"t.big":9007199254740993' in answer.text
    assert '"t.half":0.1' in answer.text


def test_one_row_at_hand_is_the_row_of_a_table(things: ServedApp) -> None:
    plain = "query q($n: String) { match { $t: Thing { name: $n } } return { $t.name, $t.big, $t.flag, $t.real } }"
    graph = things.application.service.graphs["things"].graph
    metrics = things.application.service.metrics

    for name in ("all", "none", "nobody", "all", "none", "nobody"):
        answer = ask(things, "POST", "/graphs/things/query", {"query": plain, "params": {"n": name}}).json()

        result = graph.query(plain, n=name)
        assert answer["rows"] == result.rows()
        assert result.to_arrow().schema.names == answer["columns"] == ["t.name", "t.big", "t.flag", "t.real"]
        assert result.to_arrow().num_rows == len(result) == answer["row_count"]
    assert metrics.reads_at_once > 0


def test_stored_queries_say_what_they_take(things: ServedApp) -> None:
    one, typed = ask(things, "GET", "/graphs/things/queries").json()["queries"]

    assert one == {
        "name": "one",
        "tool_name": "one",
        "mutation": False,
        "params": [{"name": "n", "kind": "string", "nullable": False}],
    }
    assert typed["mutation"] is True
    assert [(each["name"], each["kind"], each.get("item_kind"), each["nullable"]) for each in typed["params"]] == [
        ("a", "bool", None, False),
        ("b", "int", None, False),
        ("c", "bigint", None, False),
        ("d", "float", None, False),
        ("e", "date", None, False),
        ("f", "datetime", None, True),
        ("g", "list", "string", False),
        ("h", "blob", None, False),
    ]


def test_a_stored_query_runs_with_values_of_every_type(things: ServedApp) -> None:
    params = {
        "a": False,
        "b": 7,
        "c": "9007199254740993",
        "d": 1.5,
        "e": "2026-01-01",
        "g": ["x"],
        "h": "base64:SGk=",
    }

    written = ask(things, "POST", "/graphs/things/queries/typed", {"params": params, "expect_mutation": True})
    read = ask(things, "POST", "/graphs/things/queries/one", {"params": {"n": "typed"}})
    bad = ask(things, "POST", "/graphs/things/queries/one", {"params": {"n": 5}})
    bare = ask(things, "POST", "/graphs/things/queries/one")

    assert written.json()["affected_nodes"] == 1, written.text
    assert read.json()["rows"][0]["t.big"] == 9_007_199_254_740_993
    assert (bad.status_code, bad.json()["param_error"]["param"]) == (400, "n")
    assert (bare.status_code, bare.json()["param_error"]["param"]) == (400, "n")
    assert things.log.of("stored query")[0]["query"] == "typed"


def test_a_blob_is_sent_whole_or_in_part(things: ServedApp) -> None:
    whole = ask(things, "GET", f"{BLOB}all")
    head = ask(things, "HEAD", f"{BLOB}all", headers={"Range": "bytes=0-1"})
    tag = whole.headers["etag"]

    assert (whole.status_code, whole.content) == (200, BYTES)
    assert whole.headers["content-type"] == "application/octet-stream"
    assert whole.headers["accept-ranges"] == "bytes"
    assert whole.headers["omnigraph-snapshot-id"]
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(BYTES)))
    for asked, expected, span in (
        ("bytes=0-9", BYTES[:10], "0-9"),
        ("bytes=10-", BYTES[10:], f"10-{len(BYTES) - 1}"),
        ("bytes=-5", BYTES[-5:], f"{len(BYTES) - 5}-{len(BYTES) - 1}"),
        (f"bytes=10230-{10**9}", BYTES[10230:], f"10230-{len(BYTES) - 1}"),
        (f"bytes=10230-{10**30}", BYTES[10230:], f"10230-{len(BYTES) - 1}"),
    ):
        part = ask(things, "GET", f"{BLOB}all", headers={"Range": asked})
        assert (part.status_code, part.content) == (206, expected)
        assert part.headers["content-range"] == f"bytes {span}/{len(BYTES)}"
    for ignored in ("bytes=5-1", "bytes=a-b", "bytes=0-1,4-5", "lines=0-1", "bytes=-"):
        assert ask(things, "GET", f"{BLOB}all", headers={"Range": ignored}).status_code == 200
    same = ask(things, "GET", f"{BLOB}all", headers={"Range": "bytes=0-0", "If-Range": tag})
    other = ask(things, "GET", f"{BLOB}all", headers={"Range": "bytes=0-0", "If-Range": '"other"'})
    assert (same.status_code, other.status_code) == (206, 200)


def test_conditions_of_a_blob(things: ServedApp) -> None:
    tag = ask(things, "HEAD", f"{BLOB}all").headers["etag"]

    unchanged = ask(things, "GET", f"{BLOB}all", headers={"If-None-Match": f'"x", W/{tag}'})
    lines = ask(things, "GET", f"{BLOB}all", headers=[("If-Match", tag), ("If-Match", '"x"')])
    matched = ask(things, "GET", f"{BLOB}all", headers={"If-Match": f'"x", {tag}'})
    star = ask(things, "GET", f"{BLOB}all", headers={"If-Match": "*"})
    failed = ask(things, "GET", f"{BLOB}all", headers={"If-Match": '"other"'})
    outside = ask(things, "GET", f"{BLOB}all", headers={"Range": "bytes=99999-"})
    empty = ask(things, "GET", f"{BLOB}empty", headers={"Range": "bytes=0-"})

    assert (unchanged.status_code, unchanged.content, unchanged.headers["etag"]) == (304, b"", tag)
    assert (lines.status_code, matched.status_code, star.status_code) == (200, 200, 200)
    assert (failed.status_code, failed.json()["kind"], failed.json()["code"]) == (
        412,
        "blob_precondition_failed",
        "conflict",
    )
    assert (outside.status_code, outside.headers["content-range"]) == (416, f"bytes */{len(BYTES)}")
    assert outside.json()["blob_range"]["length"] == len(BYTES)
    assert empty.status_code == 416
    assert ask(things, "GET", f"{BLOB}empty").content == b""


def test_blobs_that_are_not_there(things: ServedApp) -> None:
    assert ask(things, "GET", f"{BLOB}none").json()["kind"] == "entity_not_found"
    assert ask(things, "GET", f"{BLOB}nobody").status_code == 404
    assert ask(things, "GET", BLOB.replace("property=data", "property=name") + "all").status_code == 400
    assert ask(things, "GET", "/graphs/things/blob?entity=node&type=Thing&id=all").status_code == 400
    assert ask(things, "GET", BLOB.replace("entity=node", "entity=table") + "all").status_code == 400
    assert ask(things, "HEAD", f"{BLOB}nobody").content == b""
    both = ask(things, "GET", f"{BLOB}all&branch=main&snapshot=main")
    assert both.json()["kind"] == "invalid_target"


def test_what_a_commit_changed_and_what_cannot_be_told(things: ServedApp) -> None:
    commits = ask(things, "GET", "/graphs/things/commits").json()["commits"]
    path = f"/graphs/things/commits/{commits[-2]['graph_commit_id']}/changes"

    first = ask(things, "GET", f"{path}?limit=2")
    rest = ask(things, "GET", f"{path}?limit=2&page_token={first.json()['next_page_token']}")
    filtered = ask(things, "GET", f"{path}?op=delete&kind=node")
    parentless = ask(things, "GET", f"/graphs/things/commits/{commits[-1]['graph_commit_id']}/changes")

    assert [change["id"] for change in first.json()["changes"]] == ["all", "empty"]
    assert [change["id"] for change in rest.json()["changes"]] == ["none"]
    assert "next_page_token" not in rest.json()
    assert filtered.json()["changes"] == []
    assert (parentless.status_code, parentless.json()["change_diff_refusal"]["reason"]) == (409, "parentless_commit")
    for query, status in (
        ("limit=0", 400),
        ("limit=9000", 413),
        ("limit=1&limit=2", 400),
        ("what=1", 400),
        ("page_token=zzz", 400),
        ("kind=planet", 400),
    ):
        assert ask(things, "GET", f"{path}?{query}").status_code == status, query


def test_a_feed_is_followed_page_by_page(things: ServedApp) -> None:
    page = ask(things, "GET", "/graphs/things/changes?start=beginning&limit=2").json()
    seen = [change["id"] for block in page["blocks"] for change in block["changes"]]
    while "next_page_token" in page:
        assert "cursor" not in page
        page = ask(things, "GET", f"/graphs/things/changes?limit=2&page_token={page['next_page_token']}").json()
        seen += [change["id"] for block in page["blocks"] for change in block["changes"]]

    assert seen[:3] == ["all", "empty", "none"]
    assert page["cursor"]
    rejected = ask(things, "GET", "/graphs/things/changes?cursor=zzz")
    both = ask(things, "GET", f"/graphs/things/changes?cursor={page['cursor']}&start=now")
    assert (rejected.status_code, rejected.json()["kind"]) == (400, "change_cursor_rejected")
    assert rejected.json()["error"].startswith("change cursor rejected: ")
    assert both.status_code == 400
