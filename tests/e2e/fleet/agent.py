"""An agent made with a2a-sdk: takes a message, works, answers with an artifact; and the faults that may be planted in it.

A fault is a word that the caller sets over `POST /fault`, which is on the agent's own port and on no tape.
"""

import asyncio
import base64
import json
import os

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Part,
    Task,
    TaskState,
    TaskStatus,
)
import httpx
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

import telemetry

# Environment of the agent: the current HTTP conventions.
os.environ.setdefault("OTEL_SEMCONV_STABILITY_OPT_IN", "http")


class Faults:
    """What is planted now."""

    def __init__(self):
        self.word = ""
        # The key that signs deliveries, of agents that sign.
        self.key = "key-1"
        # Set when a held task may go on.
        self.released = asyncio.Event()


def card(name, base, faults):
    skill, modes = "summarize-v2", ["text/markdown"]
    if faults.word == "skill-replaced":
        skill = "translate-v1"
    return AgentCard(
        name=name,
        description="Summarises text.",
        version="1.0.0",
        supported_interfaces=[AgentInterface(url=f"{base}/a2a", protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[
            AgentSkill(
                id=skill,
                name=skill,
                description="Does it.",
                tags=["text"],
                input_modes=["text/plain"],
                output_modes=modes,
            )
        ],
    )


# Public keys of the agents that sign, each under the id that its signatures name (points of RFC 7515 and 7517).
KEYS = {
    "key-1": {"x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},
    "key-2": {"x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"},
}


def encoded(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def signing(faults):
    """Puts a token that names the present key on each delivery. Nobody here verifies more of it than the name: what is
    shown is who knows which key, and not that signatures work."""

    async def sign(request):
        header = {"alg": "ES256", "kid": faults.key, "typ": "JWT"}
        parts = [json.dumps(header).encode(), json.dumps({"iss": "agent"}).encode(), os.urandom(64)]
        request.headers["authorization"] = "Bearer " + ".".join(encoded(part) for part in parts)

    return sign


class Store(InMemoryTaskStore):
    """A store with the faults of stores: it loses what it holds, or gives a task that had ended another state."""

    def __init__(self):
        super().__init__()
        self.is_empty = False
        self.reopened = set()

    async def get(self, task_id, context):
        task = await super().get(task_id, context)
        if task is None or self.is_empty:
            return None
        if task_id in self.reopened:
            task.status.state = TaskState.TASK_STATE_WORKING
            task.status.timestamp.GetCurrentTime()
        return task


class Works(AgentExecutor):
    """Does what the message asks for, and what the fault makes of it."""

    def __init__(self, faults):
        self.faults = faults

    async def execute(self, context, event_queue):
        word = self.faults.word
        asked = dict(context.message.metadata).get("skillId", "")
        await event_queue.enqueue_event(
            Task(
                id=context.task_id,
                context_id=context.context_id,
                status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
                history=[context.message],
            )
        )
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        await task.start_work()
        if word in ("skill-replaced", "skill-refused") and asked == "summarize-v2":
            text = f"unknown skill '{asked}'"
            await task.failed(task.new_agent_message([Part(text=text)]))
            return
        if word == "held":
            await self.faults.released.wait()
        steps = ["First part. ", "Second part. ", "Last part."]
        media_type = "text/plain" if word == "other-mode" else "text/markdown"
        for number, text in enumerate(steps):
            await task.add_artifact(
                [Part(text=text, media_type=media_type)],
                artifact_id="summary",
                name="summary",
                append=number > 0,
                last_chunk=number == len(steps) - 1,
            )
            await asyncio.sleep(0.02)
        await task.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class Cut:
    """Breaks connections of streams after the first of their bytes, while that fault is planted."""

    def __init__(self, app, faults):
        self.app, self.faults = app, faults

    async def __call__(self, scope, receive, send):
        sent = 0
        is_stream = False

        async def some(message):
            nonlocal sent, is_stream
            if message["type"] == "http.response.start":
                is_stream = any(b"event-stream" in value for _, value in message["headers"])
            if is_stream and self.faults.word == "stream-cut" and message["type"] == "http.response.body":
                sent += 1
                if sent > 2:
                    raise ConnectionAbortedError("a fault of the test")
            await send(message)

        await self.app(scope, receive, some)


def run(name, ports, plan):
    """The process of one agent."""
    asyncio.run(serve(name, ports, plan))


async def serve(name, ports, plan):
    own = telemetry.Telemetry(name, plan, over_grpc=True)
    faults, store = Faults(), Store()
    base = f"http://127.0.0.1:{ports['front']}"
    configs = InMemoryPushNotificationConfigStore()
    hooks = {"request": [signing(faults)]} if name in plan["signers"] else {}
    sender = BasePushNotificationSender(httpx.AsyncClient(event_hooks=hooks), configs)
    handler = DefaultRequestHandler(
        agent_executor=Works(faults),
        task_store=store,
        agent_card=card(name, base, faults),
        push_config_store=configs,
        push_sender=sender,
    )

    async def plant(request):
        order = await request.json()
        if "word" in order:
            faults.word = order["word"]
            faults.released.clear()
        if order.get("release"):
            faults.released.set()
        faults.key = order.get("key", faults.key)
        store.is_empty = order.get("forget", store.is_empty)
        store.reopened |= {order["reopen"]} if "reopen" in order else set()
        return JSONResponse({})

    async def keys(_):
        public = {"kty": "EC", "crv": "P-256", "kid": faults.key, "use": "sig", "alg": "ES256", **KEYS[faults.key]}
        return JSONResponse({"keys": [public]})

    async def shown(_):
        return card(name, base, faults)

    routes = create_jsonrpc_routes(handler, "/a2a") + create_agent_card_routes(card(name, base, faults), shown)
    routes.append(Route("/.well-known/jwks.json", keys))
    app = Starlette(routes=routes)
    watched = OpenTelemetryMiddleware(Cut(app, faults), tracer_provider=own.tracers)
    control = Starlette(routes=[Route("/fault", plant, methods=["POST"])])

    async def both(scope, receive, send):
        await (control if scope.get("path") == "/fault" else watched)(scope, receive, send)

    config = uvicorn.Config(both, host="127.0.0.1", port=ports["back"], log_level="critical", lifespan="off")
    await uvicorn.Server(config).serve()
