"""Stored queries as tools, over the real protocol: its own client starts `omnigraph mcp` and talks on stdio."""

import asyncio
import json
import os
import re
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from omnigraph.client.values import StoredParameterInfo, StoredQueryInfo
from omnigraph.mcp.tools import shortened, tool_of
from support.program import QUERIES
from support.served import TOKENS


def talk(program: str, words: list[str], talking: Any, **environ: str) -> Any:
    """Start the program, run a conversation with it, and stop it."""

    async def conversation() -> Any:
        parameters = StdioServerParameters(command=program, args=["mcp", *words], env={**os.environ, **environ})
        async with stdio_client(parameters) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
            await session.initialize()
            return await talking(session)

    return asyncio.run(asyncio.wait_for(conversation(), 60))


def test_a_server_offers_its_stored_queries_and_decides_who_runs_them(program, busy, workplace):
    async def talking(session: ClientSession) -> None:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert set(tools) == {"add_artist", "by_artist"}
        reads, writes = tools["by_artist"], tools["add_artist"]
        assert reads.description == "Works of one artist. Ask with a full name. Reads the graph and changes nothing."
        assert (reads.annotations.read_only_hint, reads.annotations.destructive_hint) == (True, False)
        assert (writes.annotations.read_only_hint, writes.annotations.destructive_hint) == (False, True)
        assert writes.input_schema == {
            "type": "object",
            "properties": {"name": {"type": "string"}, "born": {"type": ["integer", "null"]}},
            "required": ["name"],
            "additionalProperties": False,
        }
        [schema] = (await session.list_resources()).resources
        assert "node Artist" in (await session.read_resource(schema.uri)).contents[0].text
        answer = await session.call_tool("by_artist", {"name": "Ines"})
        assert answer.is_error is False
        assert answer.structured_content["rows"] == [{"w.title": "Still Life", "a.born": 1907}]
        assert json.loads(answer.content[0].text) == answer.structured_content
        done = await session.call_tool("add_artist", {"name": "Mia", "born": 1980})
        assert (done.structured_content["affected_nodes"], done.structured_content["actor_id"]) == (1, "act-ines")
        wrong = await session.call_tool("by_artist", {"nme": "Ines"})
        assert wrong.is_error
        assert wrong.structured_content["kind"] == "param_error"
        missing = await session.call_tool("drop_all", {})
        assert (missing.is_error, missing.structured_content["kind"]) == (True, "stored_query_not_found")

    page = (Path(__file__).parents[2] / "docs" / "guide" / "mcp.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    configured = json.loads(shown)["mcpServers"]["museum"]
    assert (configured["command"], configured["args"][0]) == ("omnigraph", "mcp")
    assert list(configured["env"]) == ["OMNIGRAPH_BEARER_TOKEN"]
    words = [word.replace("https://graph.example.org", busy.url) for word in configured["args"][1:]]
    talk(program, words, talking, OMNIGRAPH_BEARER_TOKEN=TOKENS["act-ines"])


def test_the_policy_of_the_server_holds(program, busy, workplace):
    async def talking(session: ClientSession) -> Any:
        return await session.call_tool("add_artist", {"name": "Eve"})

    words = ["--server", busy.url, "--graph", "art"]
    refused = talk(program, words, talking, OMNIGRAPH_BEARER_TOKEN=TOKENS["act-rae"])

    assert refused.is_error
    assert refused.structured_content["kind"] == "policy_denied"
    assert "act-rae" in refused.content[0].text


def test_a_graph_of_a_cluster_is_worked_on_here_in_the_name_of_an_actor(program, busy, workplace):
    async def talking(session: ClientSession) -> Any:
        names = [tool.name for tool in (await session.list_tools()).tools]
        return names, await session.call_tool("add_artist", {"name": "Uma"})

    names, done = talk(program, ["--cluster", busy.root, "--graph", "art", "--as", "act-omar"], talking)

    assert names == ["add_artist", "by_artist"]
    assert done.structured_content["actor_id"] == "act-omar", done


def test_an_address_that_is_taken_or_none_is_told_in_a_sentence(program, shown_art):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        for bind, code, words in ((place, 1, f"cannot listen on {place}"), ("127.0.0.1:65536", 2, "takes HOST:PORT")):
            ran = subprocess.run(
                [program, "mcp", shown_art, "--query", "art.gq", "--http", bind],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert (ran.returncode, words in ran.stderr, "defect" in ran.stderr) == (code, True, False), ran.stderr


def test_the_same_tools_are_there_over_http(program, shown_art):
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    process = subprocess.Popen([program, "mcp", shown_art, "--query", "art.gq", "--http", place])

    async def conversation() -> Any:
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", int(place.rpartition(":")[2])), 1):
                break
            await asyncio.sleep(0.1)
        async with Client(f"http://{place}/mcp") as client:
            return await client.call_tool("by_artist", {"name": "Ines"})

    try:
        answer = asyncio.run(asyncio.wait_for(conversation(), 60))
    finally:
        process.terminate()
        process.wait(30)
    assert answer.structured_content["row_count"] == 1


def test_files_of_queries_are_offered_over_storage(program, shown_art):
    async def talking(session: ClientSession) -> Any:
        assert "node Artwork" in (await session.read_resource("omnigraph://schema")).contents[0].text
        with pytest.raises(MCPError, match="There is no resource"):
            await session.read_resource("omnigraph://secrets")
        return await session.call_tool("by_artist", {"name": "Ines"})

    answer = talk(program, ["--store", shown_art, "--query", "art.gq"], talking)

    assert answer.structured_content["row_count"] == 1
    assert "query by_artist" in QUERIES


@pytest.mark.parametrize(("port", "token", "code"), [("1", "x", 8), (None, "wrong", 6)])
def test_a_server_that_does_not_answer_ends_the_program_with_the_reason(run, served, monkeypatch, port, token, code):
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", token)

    ran = run("mcp", "--server", served.url if port is None else f"http://127.0.0.1:{port}", "--graph", "art")

    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("error: ")


def test_every_kind_of_parameter_has_a_schema():
    kinds = ("string", "bool", "int", "bigint", "float", "date", "datetime", "blob")
    parameters = [StoredParameterInfo(name=kind, kind=kind, nullable=False) for kind in kinds]
    parameters += [
        StoredParameterInfo(name="v", kind="vector", nullable=False, vector_dim=3),
        StoredParameterInfo(name="l", kind="list", nullable=True, item_kind="date"),
    ]

    schema = tool_of(StoredQueryInfo(name="q", is_mutation=False, parameters=tuple(parameters))).input_schema

    assert schema["required"] == [*kinds, "v"]
    assert schema["properties"]["date"] == {"type": "string", "format": "date"}
    assert schema["properties"]["v"] == {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}
    assert schema["properties"]["l"] == {"type": ["array", "null"], "items": {"type": "string", "format": "date"}}


def test_a_long_answer_is_cut_and_says_so():
    document = {"row_count": 3, "rows": [{"n": 1}, {"n": 2}, {"n": 3}]}

    assert shortened(document, 2) == {"row_count": 3, "rows": [{"n": 1}, {"n": 2}], "rows_left_out": 1}
    assert shortened(document, 3) is document


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("art.omni",), "--query FILE"),
        (("art.omni", "--query", "art.gq", "--http", "0.0.0.0:1"), "this machine only"),
        (("art.omni", "--query", "art.gq", "--http", "here"), "HOST:PORT"),
    ],
)
def test_what_cannot_be_offered_is_refused(run, shown_art, words, said):
    ran = run("mcp", *words)

    assert ran.code == 2
    assert said in ran.err
