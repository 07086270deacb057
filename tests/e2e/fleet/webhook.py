"""Receives push notifications: takes them, or refuses them with 401 while that is ordered."""

import asyncio

import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route


class Receiver:
    """What the receiver does now, and what it got."""

    def __init__(self):
        self.refuses = False
        self.accepted = 0
        self.refused = 0

    async def take(self, request):
        await request.body()
        if self.refuses:
            self.refused += 1
            return Response(status_code=401, headers={"www-authenticate": "Bearer"})
        self.accepted += 1
        return Response(status_code=204)


async def start(port):
    """Starts it and returns it."""
    receiver = Receiver()
    app = Starlette(routes=[Route("/hook/{name}", receiver.take, methods=["POST"])])
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical", lifespan="off")
    receiver.serving = asyncio.create_task(uvicorn.Server(config).serve())
    return receiver
