"""Receives push notifications: takes them, or refuses them with 401 while that is ordered. Of agents that sign it wants a
key that it knows, and it looks at their keys once only: that is its fault."""

import asyncio
import base64
import json

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route


class Receiver:
    """What the receiver does now, and what it got."""

    def __init__(self, plan):
        self.plan = plan
        self.keys = {}
        self.refuses = False
        self.accepted = 0
        self.refused = 0

    async def take(self, request):
        await request.body()
        if self.refuses or not await self.knows(request):
            self.refused += 1
            return Response(status_code=401, headers={"www-authenticate": "Bearer"})
        self.accepted += 1
        return Response(status_code=204)


    async def knows(self, request):
        """Whether a delivery is signed with a known key, if it has to be signed."""
        name = request.path_params["name"]
        if name not in self.plan["signers"]:
            return True
        if name not in self.keys:
            front = self.plan["agents"][name]["front"]
            async with httpx.AsyncClient() as client:
                answer = await client.get(f"http://127.0.0.1:{front}/.well-known/jwks.json")
            self.keys[name] = {key["kid"] for key in answer.json()["keys"]}
        head = request.headers.get("authorization", "").removeprefix("Bearer ").split(".")[0]
        return json.loads(base64.urlsafe_b64decode(head + "=="))["kid"] in self.keys[name]


async def start(plan, port):
    """Starts it and returns it."""
    receiver = Receiver(plan)
    app = Starlette(routes=[Route("/hook/{name}", receiver.take, methods=["POST"])])
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical", lifespan="off")
    receiver.serving = asyncio.create_task(uvicorn.Server(config).serve())
    return receiver
