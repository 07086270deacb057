"""Runs nginx before an agent and a webhook, and keeps what it logs in three formats.

Run: apt-get install nginx-light; python3 -m venv V && V/bin/pip install 'a2a-sdk[http-server]==0.3.26' uvicorn && \\
     V/bin/python run.py FOLDER

The agent is a2a-sdk's own server with both of its HTTP bindings; the calls are plain httpx. Ports are those below.
"""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid

import httpx
import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, TextPart
from a2a.utils import new_task

RPC, REST, EDGE = 43301, 43302, 43300
OUT = os.path.abspath(sys.argv[1])
CONF = """
worker_processes 1; pid %(tmp)s/nginx.pid; error_log %(tmp)s/error.log; daemon off;
events {}
http {
  client_body_temp_path %(tmp)s/body; proxy_temp_path %(tmp)s/proxy; fastcgi_temp_path %(tmp)s/f; uwsgi_temp_path %(tmp)s/u;
  scgi_temp_path %(tmp)s/s;
  log_format json escape=json '{"time_iso8601":"$time_iso8601","msec":"$msec","remote_addr":"$remote_addr","request":"$request",'
    '"status":"$status","http_host":"$http_host","request_time":"$request_time","upstream_addr":"$upstream_addr",'
    '"http_traceparent":"$http_traceparent","http_a2a_version":"$http_a2a_version","request_body":"$request_body"}';
  log_format escaped '{"time_local":"$time_local","remote_addr":"$remote_addr","request_method":"$request_method",'
    '"request_uri":"$request_uri","status":$status,"host":"$http_host","request_time":$request_time,'
    '"upstream_addr":"$upstream_addr","request_body":"$request_body"}';
  log_format vhost_combined '$http_host $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
    '"$http_referer" "$http_user_agent"';
  server {
    listen 127.0.0.1:%(edge)d;
    access_log %(out)s/json.log json; access_log %(out)s/escaped.log escaped; access_log %(out)s/combined.log combined;
    access_log %(out)s/vhost_combined.log vhost_combined;
    location /summary/rest/ { proxy_pass http://127.0.0.1:%(rest)d/; }
    location /summary/ { proxy_pass http://127.0.0.1:%(rpc)d/; }
    location /hooks/ { return 401; }
    location / { return 404; }
  }
}
"""


class Scripted(AgentExecutor):
    async def execute(self, context, queue):
        task = context.current_task or new_task(context.message)
        await queue.enqueue_event(task)
        updater = TaskUpdater(queue, task.id, task.context_id)
        if "translate" in context.get_user_input():
            return await updater.failed(updater.new_agent_message([Part(root=TextPart(text="Unknown skill: translate"))]))
        await updater.add_artifact([Part(root=TextPart(text="a summary"))], artifact_id="summary")
        await updater.complete()

    async def cancel(self, context, queue):
        raise NotImplementedError


def serve():
    base = f"http://127.0.0.1:{EDGE}/summary/"
    card = AgentCard(
        name="Summary Agent", description="Summarizes", url=base, version="1.0.0",
        additional_interfaces=[AgentInterface(transport="HTTP+JSON", url=base + "rest")],
        default_input_modes=["text/plain"], default_output_modes=["text/plain"], capabilities=AgentCapabilities(streaming=True),
        skills=[AgentSkill(id="summarize", name="Summarize", description="Summarizes", tags=["text"])],
    )
    handler = DefaultRequestHandler(agent_executor=Scripted(), task_store=InMemoryTaskStore())
    apps = [
        (A2AStarletteApplication(agent_card=card, http_handler=handler).build(), RPC),
        (A2ARESTFastAPIApplication(agent_card=card, http_handler=handler).build(), REST),
    ]
    for app, port in apps:
        server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
        threading.Thread(target=server.run, daemon=True).start()


def wait(port):
    while socket.socket().connect_ex(("127.0.0.1", port)):
        time.sleep(0.1)


def message(text, skill):
    return {"kind": "message", "messageId": str(uuid.uuid4()), "role": "user", "parts": [{"kind": "text", "text": text}],
            "metadata": {"skillId": skill}}


def main():
    serve()
    with tempfile.TemporaryDirectory() as tmp:
        with open(f"{tmp}/nginx.conf", "w") as conf:
            conf.write(CONF % {"tmp": tmp, "out": OUT, "edge": EDGE, "rpc": RPC, "rest": REST})
        nginx = subprocess.Popen(["nginx", "-c", f"{tmp}/nginx.conf", "-p", tmp])
        for port in (RPC, REST, EDGE):
            wait(port)
        edge = httpx.Client(base_url=f"http://127.0.0.1:{EDGE}")
        edge.get("/summary/.well-known/agent-card.json")
        for number, (text, skill) in enumerate([("summarize \"this\"", "summarize"), ("translate", "translate")], 1):
            span = f"{number:016x}"
            got = edge.post("/summary/", headers={"A2A-Version": "0.3", "traceparent": f"00-{number:032x}-{span}-01"}, json={
                "jsonrpc": "2.0", "id": str(number), "method": "message/send", "params": {"message": message(text, skill)}})
        task = got.json()["result"]["id"]
        edge.get(f"/summary/rest/v1/tasks/{task}")
        edge.get("/summary/rest/v1/tasks/no-such-task")
        edge.post(f"/summary/rest/v1/tasks/{task}:cancel")
        edge.post("/hooks/a2a", json={"id": task, "kind": "task", "status": {"state": "failed"}})
        edge.get("/favicon.ico")
        time.sleep(0.3)
        nginx.terminate()
        nginx.wait()
    os._exit(0)


main()
