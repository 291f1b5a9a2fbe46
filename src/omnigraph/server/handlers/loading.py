"""Loads: records that come as a text in a document, or as lines of their own."""

from collections.abc import Mapping
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

from omnigraph.documents.data import load_document
from omnigraph.engine.choice import EngineChoice, EngineName
from omnigraph.errors import BranchNotFound
from omnigraph.graphs.authorizing import PolicyAction
from omnigraph.manifest.commits import MAIN_BRANCH
from omnigraph.server.calls import Call, branch_named
from omnigraph.server.handlers.writing import refuse_any_condition
from omnigraph.server.replies import Reply, document_reply
from omnigraph.server.settings import LOAD_BODY_BYTES_MAX

_IN_MEMORY_BYTES_MAX = 1 << 20


async def load(call: Call) -> Reply:
    """Load records that stand in the document."""
    refuse_any_condition(call)
    body = await call.members()
    return await _loaded(call, body, BytesIO(body["data"].encode("utf-8", "surrogatepass")), from_default=None)


async def ingest(call: Call) -> Reply:
    """Load for an older client: a branch that is missing is made from `main` without being asked."""
    refuse_any_condition(call)
    body = await call.members()
    return await _loaded(call, body, BytesIO(body["data"].encode("utf-8", "surrogatepass")), from_default=MAIN_BRANCH)


async def load_lines(call: Call) -> Reply:
    """Load records as they come; whoever may not is told so before a byte of them is read."""
    refuse_any_condition(call)
    given = call.parameters()
    branch, base = _branches(given, from_default=None)
    await _allow(call, branch, base)
    with (
        call.admitted(call.declared_bytes or LOAD_BODY_BYTES_MAX),
        SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES_MAX) as records,
    ):
        more = True
        while more:
            message = await call.next_piece()
            call.count(len(message["body"]))
            records.write(message["body"])
            more = message.get("more_body", False)
        records.seek(0)
        return await _run(call, given, branch, base, cast("BinaryIO", records))


async def _loaded(call: Call, body: Mapping[str, Any], records: BinaryIO, *, from_default: str | None) -> Reply:
    branch, base = _branches(body, from_default=from_default)
    await _allow(call, branch, base)
    with call.admitted():
        return await _run(call, body, branch, base, records)


def _branches(given: Mapping[str, Any], *, from_default: str | None) -> tuple[str, str | None]:
    base = given.get("from")
    return branch_named(given.get("branch")), from_default if base is None else branch_named(base, name="from")


async def _allow(call: Call, branch: str, base: str | None) -> None:
    """Ask for the change, and for the new branch where the load would make one."""
    call.allow(branch=branch)
    if base is None:
        return
    try:
        await call.head(branch)
    except BranchNotFound:
        call.allow(action=PolicyAction.BRANCH_CREATE, branch=base, target=branch)


async def _run(call: Call, given: Mapping[str, Any], branch: str, base: str | None, records: BinaryIO) -> Reply:
    try:
        result = await call.write(
            lambda: call.graph.load(
                records,
                mode=given.get("mode", "merge"),
                branch=branch,
                from_branch=base,
                actor=call.actor,
                engine=EngineChoice(engine=EngineName.LOCAL),
            )
        )
    except BranchNotFound as error:
        if base is not None:
            raise
        message = f"Branch '{branch}' was not found; say in `from` what to make it from, or load into one that exists."
        raise BranchNotFound(message, branch=branch) from error
    document: Any = load_document(result)
    # Where it ran is a matter of direct loads; a server has one place.
    return document_reply({name: value for name, value in document.items() if not name.startswith("engine")})
