"""Exports and baselines: whole states, streamed as records."""

from collections.abc import Callable
from typing import BinaryIO

from omnigraph.errors import BadRequest, EntityNotFound
from omnigraph.server.calls import Call, branch_named
from omnigraph.server.replies import Reply, StreamReply
from omnigraph.server.streams import open_stream


async def export(call: Call) -> Reply:
    """Stream the records of one state of a branch, nodes before edges."""
    body = await call.members()
    branch = branch_named(body.get("branch"))
    call.allow(branch=branch)
    types = [*body.get("type_names", ()), *body.get("table_keys", ())]
    return await _streamed(call, branch, lambda out: call.graph.export(out, branch=branch, types=types, engine="local"))


async def baseline(call: Call) -> Reply:
    """Stream the records of one state of a branch and, as the last line, the cursor that follows it."""
    body = await call.members()
    branch = branch_named(body.get("branch"))
    call.allow(branch=branch)
    kinds, types, ops = (body.get(name, ()) for name in ("kind", "type", "op"))
    return await _streamed(
        call, branch, lambda out: call.graph.baseline(out, branch=branch, kinds=kinds, types=types, ops=ops)
    )


async def _streamed(call: Call, branch: str, make: Callable[[BinaryIO], object]) -> Reply:
    await call.head(branch)  # says that there is no such branch, also where it is the address of a state
    try:
        return StreamReply(await open_stream(call, make))
    except EntityNotFound as error:
        raise BadRequest(error.message) from error
