"""Writes the events that CrewAI emits while it delegates to A2A agents and serves one, as JSON lines.

Run: python3 -m venv V && V/bin/pip install 'crewai[a2a]==1.15.30' && V/bin/python events.py events.ndjson to_json.ndjson

The same events go into both files: as pydantic writes them, and as CrewAI's own `to_json` does, which writes what is nested
deeper than a few levels as Python literals.

The server is a2a-sdk's own with an executor that does as the text of the message says; the last two steps have a CrewAI
agent answer, whose model is a class that answers a fixed text. Ports are those below.
"""

import asyncio
import json
import os
import socket
import sys
import threading
import time

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false")

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part, TaskState, TextPart
from a2a.utils import new_task
from crewai import Agent, BaseLLM
from crewai.a2a.config import A2AServerConfig
from crewai.a2a.updates import PollingConfig, StreamingConfig
from crewai.a2a.utils import task as served
from crewai.a2a.utils.agent_card import fetch_agent_card
from crewai.a2a.utils.delegation import execute_a2a_delegation
from crewai.events import crewai_event_bus
from crewai.events.types import a2a_events

OUT = [open(path, "w", encoding="utf-8") for path in sys.argv[1:3]]
PORT = 43101
ENDPOINT = f"http://127.0.0.1:{PORT}/.well-known/agent-card.json"


class Scripted(AgentExecutor):
    async def execute(self, context, queue):
        task = context.current_task or new_task(context.message)
        await queue.enqueue_event(task)
        updater = TaskUpdater(queue, task.id, task.context_id)
        await updater.start_work()
        text = context.get_user_input()
        if "unknown" in text:
            return await updater.failed(updater.new_agent_message([Part(root=TextPart(text="Unknown skill: translate"))]))
        await updater.add_artifact([Part(root=TextPart(text="a summary"))], artifact_id="summary", name="summary.txt")
        if "slow" in text:
            await asyncio.sleep(1.2)
        await updater.complete()

    async def cancel(self, context, queue):
        raise NotImplementedError


class Fixed(BaseLLM):
    def __init__(self, fails=False):
        super().__init__(model="fixed")
        self.fails = fails

    def call(self, *args, **kwargs):
        if self.fails:
            raise RuntimeError("Unknown skill: translate")
        return "Final Answer: a summary"

    async def acall(self, *args, **kwargs):
        return self.call()


def serve():
    skill = AgentSkill(id="summarize", name="Summarize", description="Summarizes", tags=["text"])
    card = AgentCard(
        name="Summary Agent", description="Summarizes", url=f"http://127.0.0.1:{PORT}/", version="1.0.0",
        default_input_modes=["text/plain"], default_output_modes=["text/plain"],
        capabilities=AgentCapabilities(streaming=True, push_notifications=False), skills=[skill],
    )
    handler = DefaultRequestHandler(agent_executor=Scripted(), task_store=InMemoryTaskStore())
    app = A2AStarletteApplication(agent_card=card, http_handler=handler).build()
    uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=PORT, log_level="error")).run()


def listen():
    lock = threading.Lock()

    def write(_source, event):
        with lock:
            OUT[0].write(event.model_dump_json() + "\n")
            OUT[1].write(json.dumps(event.to_json(), default=str) + "\n")

    for name in dir(a2a_events):
        kind = getattr(a2a_events, name)
        if isinstance(kind, type) and name.startswith("A2A") and name != "A2AEventBase":
            crewai_event_bus.on(kind)(write)


def delegate(text, endpoint=ENDPOINT, **more):
    try:
        execute_a2a_delegation(endpoint=endpoint, auth=None, timeout=10, task_description=text, agent_id=endpoint, **more)
    except Exception as error:
        print(f"{text}: {type(error).__name__}", file=sys.stderr)
    time.sleep(0.3)


async def answer(text, llm):
    from a2a.server.agent_execution import RequestContext
    from a2a.server.events import EventQueue
    from a2a.types import Message, MessageSendParams, Role

    agent = Agent(role="Summarizer", goal="Summarize", backstory="Short", llm=llm, a2a=[A2AServerConfig()], max_retry_limit=0)
    message = Message(message_id="m-served", role=Role.user, parts=[Part(root=TextPart(text=text))])
    context = RequestContext(MessageSendParams(message=message), task_id="a2a-task-1", context_id="a2a-context-1")
    try:
        await served.execute(agent, context, EventQueue())
    except Exception as error:
        print(f"served: {type(error).__name__}", file=sys.stderr)


def main():
    listen()
    threading.Thread(target=serve, daemon=True).start()
    while socket.socket().connect_ex(("127.0.0.1", PORT)):
        time.sleep(0.1)
    fetch_agent_card(ENDPOINT, use_cache=False)
    delegate("summarize this", updates=StreamingConfig(), skill_id="summarize")
    delegate("summarize slow", updates=PollingConfig(interval=0.5, timeout=5))
    delegate("unknown", updates=StreamingConfig(), skill_id="translate")
    delegate("nobody", endpoint="http://127.0.0.1:43199/.well-known/agent-card.json")
    asyncio.run(answer("summarize", Fixed()))
    asyncio.run(answer("translate", Fixed(fails=True)))
    time.sleep(1)
    for out in OUT:
        out.close()
    os._exit(0)


main()
