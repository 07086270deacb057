"""The caller of the fleet, `orchestrator`, made with the client of a2a-sdk. Each public `do_` method is an order."""

import asyncio
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from google.protobuf.json_format import ParseDict

import telemetry


class Caller:
    """Cards that were fetched, and how to call."""

    def __init__(self, plan, receiver, tape):
        self.plan, self.receiver, self.tape = plan, receiver, tape
        self.telemetry = telemetry.Telemetry("orchestrator", plan, over_grpc=False)
        self.http = httpx.AsyncClient(timeout=30)
        # Orders on faults go past every tape and every span.
        self.aside = httpx.AsyncClient(timeout=30, transport=httpx.AsyncHTTPTransport())
        self.cards = {}

    def flush(self):
        self.telemetry.flush()

    def base(self, agent):
        return f"http://127.0.0.1:{self.plan['agents'][agent]['front']}"

    async def wait_for_agents(self):
        for agent, ports in self.plan["agents"].items():
            for _ in range(600):
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", ports["back"])
                    writer.close()
                    break
                except OSError:
                    await asyncio.sleep(0.1)
            else:
                raise RuntimeError(f"{agent} does not start")

    async def obey(self, order):
        return await getattr(self, "do_" + order.pop("do"))(**order)

    async def do_plant(self, agent, **fault):
        """Plants a fault in an agent, or takes it away."""
        url = f"http://127.0.0.1:{self.plan['agents'][agent]['back']}/fault"
        (await self.aside.post(url, json=fault)).raise_for_status()

    async def do_refuse(self, refuses):
        """Makes the webhook refuse, or take; then it also looks at keys again."""
        self.receiver.refuses = refuses
        if not refuses:
            self.receiver.keys.clear()

    async def do_keys(self, agent):
        """Fetches an agent's keys."""
        return (await self.http.get(self.base(agent) + "/.well-known/jwks.json")).json()

    async def do_told(self):
        """What came to the webhook, and how many exchanges a2a-drift has."""
        return {"accepted": self.receiver.accepted, "refused": self.receiver.refused, "exchanges": self.tape.sent}

    async def do_look(self, agent):
        """Fetches a card."""
        self.cards[agent] = await A2ACardResolver(self.http, self.base(agent)).get_agent_card()
        return [skill.id for skill in self.cards[agent].skills]

    async def do_send(
        self, agent, streaming=False, blocking=True, skill="summarize-v2", hook=None, version=None, task=None
    ):
        """Sends a message on the card that was fetched last; the task, and its state as far as the caller saw it."""
        card = self.cards[agent]
        http = self.http
        if version:
            http = httpx.AsyncClient(timeout=30, headers={"A2A-Version": version})
        config = ClientConfig(streaming=streaming, polling=not blocking, httpx_client=http)
        client = ClientFactory(config).create(card)
        message = Message(
            message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text="Summarise this.")], task_id=task
        )
        if skill:
            ParseDict({"skillId": skill}, message.metadata)
        settings = SendMessageConfiguration(return_immediately=not blocking)
        if hook:
            url = f"http://127.0.0.1:{self.plan['webhook']['front']}/hook/{agent}"
            if hook == "direct":
                url = f"http://127.0.0.1:{self.plan['webhook']['back']}/hook/{agent}"
            settings.task_push_notification_config.CopyFrom(TaskPushNotificationConfig(url=url, token="of-the-test"))
        told = {"task": "", "state": "", "error": ""}
        try:
            async for event in client.send_message(SendMessageRequest(message=message, configuration=settings)):
                note(event, told)
        except Exception as error:  # what the agent answers is the subject of the test
            told["error"] = f"{type(error).__name__}: {error}"
        return told

    async def do_read(self, agent, task):
        """Reads a task."""
        client = ClientFactory(ClientConfig(httpx_client=self.http)).create(self.cards[agent])
        try:
            read = await client.get_task(GetTaskRequest(id=task))
            return {"state": TaskState.Name(read.status.state), "error": ""}
        except Exception as error:  # as above
            return {"state": "", "error": f"{type(error).__name__}: {error}"}

    async def do_verdict(self, agent, task, state):
        """The caller's own verdict on a task, as the log record that README.md asks for."""
        attributes = {
            "a2a.task.id": task,
            "a2a.task.state": state,
            "a2a.state.source": "client",
            "url.full": self.base(agent) + "/a2a",
        }
        self.telemetry.event("a2a.task.state", attributes)

    async def do_flush(self):
        """Sends what the SDK still holds."""
        await asyncio.to_thread(self.flush)


def note(event, told):
    """Takes from an event of a stream what the caller learns of its task."""
    if event.HasField("task"):
        told["task"], told["state"] = event.task.id, TaskState.Name(event.task.status.state)
    elif event.HasField("status_update"):
        told["task"] = event.status_update.task_id
        told["state"] = TaskState.Name(event.status_update.status.state)
