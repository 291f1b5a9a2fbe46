"""What the framework serves when there is nothing to do: Starlette on uvicorn, one route, an empty document."""

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def empty(request: Request) -> Response:
    """Answer with an empty document, as soon as the request is there."""
    await request.body()
    return Response(b"{}", media_type="application/json")


def main(port: int) -> None:
    """Serve until somebody ends it."""
    app = Starlette(routes=[Route("/graphs/{graph_id}/query", empty, methods=["POST"])])
    uvicorn.run(app, port=port, http="httptools", loop="uvloop", log_level="error", access_log=False, lifespan="off")


if __name__ == "__main__":
    main(int(sys.argv[1]))
