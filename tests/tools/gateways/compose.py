"""Writes what gateways log of the calls of a captured run, into tests/formats/.

Run: python3 tests/tools/gateways/compose.py

These gateways could not be run here. The shape of every line is that of their sources and documentation, named in the README.md
beside each fixture; what the lines say is taken from the calls in tests/captures/a2a-python-1.3.0/jsonrpc.exchanges.ndjson. The agent
answers at 127.0.0.1:41001, and stands behind gateways at other ports under /summary.
"""

import json
import os
from datetime import datetime, timezone
from urllib.parse import urlsplit

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "..")
CAPTURE = os.path.join(TESTS, "captures", "a2a-python-1.3.0", "jsonrpc.exchanges.ndjson")
HOST, PREFIX = "127.0.0.1", "/summary"
STATES = {"TASK_STATE_" + word.upper().replace("-", "_"): word for word in (
    "submitted", "working", "input-required", "completed", "canceled", "failed", "rejected", "auth-required")}


def calls():
    for line in open(CAPTURE, encoding="utf-8"):
        taped = json.loads(line)
        if taped["leg"] == "agent":
            yield Call(taped)


class Call:
    def __init__(self, taped):
        request, response = taped["request"], taped["response"]
        self.start, self.millis = taped["start_unix_ns"], taped["time_ms"]
        self.client = taped["client"]
        self.http_method, self.status = request["method"], response["status"]
        url = urlsplit(request["url"])
        self.path, self.upstream = PREFIX + url.path, url.netloc
        self.headers = {name.lower(): value for name, value in request["headers"]}
        self.response_headers = {name.lower(): value for name, value in response["headers"]}
        self.sent = (request.get("body") or {}).get("text") or ""
        self.got = (response.get("body") or {}).get("text") or ""
        self.request = parsed(self.sent)
        self.streams = self.response_headers.get("content-type", "").startswith("text/event-stream")
        pieces = [line[5:] for line in self.got.splitlines() if line.startswith("data:")] if self.streams else [self.got]
        self.answers = [answer for answer in map(parsed, pieces) if answer]

    @property
    def end(self):
        return self.start + round(self.millis * 1e6)

    @property
    def is_card(self):
        return self.path.endswith("agent-card.json")

    def seen(self, *path):
        """The last value at a path below a task or event of the answers."""
        found = None
        for answer in self.answers:
            result = answer.get("result")
            if not isinstance(result, dict):
                continue
            for inner in [result] + [result[key] for key in ("task", "statusUpdate", "artifactUpdate") if key in result]:
                value = inner
                for key in path:
                    value = value.get(key) if isinstance(value, dict) else None
                found = value if value is not None else found
        return found

    @property
    def task_id(self):
        return self.seen("taskId") or (self.seen("id") if self.seen("status") else None)

    @property
    def error(self):
        return next((answer["error"] for answer in self.answers if "error" in answer), None)


def parsed(text):
    try:
        value = json.loads(text)
        return value if isinstance(value, dict) else None
    except ValueError:
        return None


def rfc3339(nanos, digits=6):
    whole = datetime.fromtimestamp(nanos // 10**9, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{nanos % 10**9:09d}"[: 20 + digits] + "Z"


def write(folder, name, lines):
    path = os.path.join(TESTS, "formats", folder)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name), "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)


# -- agentgateway -------------------------------------------------------------------------------------------------------
def agentgateway(call):
    is_json = not call.streams
    error, result = call.error, next((a for a in call.answers if a.get("result") is not None), None)
    traceparent = call.headers.get("traceparent", "--").split("-")
    fields = {
        "gateway": "default/default", "listener": "listener0", "route": "default/route0", "endpoint": call.upstream,
        "src.addr": call.client, "http.method": call.http_method, "http.host": f"{HOST}:3000", "http.path": call.path,
        "http.version": "HTTP/1.1", "http.status": call.status, "trace.id": traceparent[1] or None, "protocol": "a2a",
    }
    if call.http_method == "POST":
        fields["a2a.method"] = (call.request or {}).get("method", "unknown")
        if is_json:
            fields["a2a.response.outcome"] = "error" if error else "success" if result else "unknown"
            fields["a2a.response.error_code"] = error["code"] if error else None
            fields["a2a.result.kind"] = call.seen("kind")
            fields["a2a.task.state"] = call.seen("status", "state")
            fields["a2a.context.id"] = call.seen("contextId")
    fields["duration"] = f"{int(call.millis)}ms"
    return {key: value for key, value in fields.items() if value is not None}


def agentgateway_text(call):
    pairs = (f"{key}={value}" for key, value in agentgateway(call).items())
    return f"{rfc3339(call.end)}\tinfo\trequest " + " ".join(pairs)


# -- Kong ---------------------------------------------------------------------------------------------------------------
def kong(call, payloads=0):
    rpc = {
        "method": "agent/getCard" if call.is_card else (call.request or {}).get("method"),
        "binding": "rest" if call.is_card else "jsonrpc",
        "latency": round(call.millis),
        "id": None if call.is_card else (call.request or {}).get("id"),
        "task_id": call.task_id, "task_state": STATES.get(call.seen("status", "state")), "context_id": call.seen("contextId"),
        "error": str(call.error["code"]) if call.error else None, "response_body_size": len(call.got.encode()),
    }
    if call.streams:
        rpc |= {"streaming": True, "ttfb_latency": 1, "sse_events_count": len(call.answers)}
    if payloads:
        rpc["payload"] = {"request": call.sent[:payloads] or None, "response": call.got[:payloads] or None}
        rpc["payload"] = {key: value for key, value in rpc["payload"].items() if value}
    entry = {
        "response": {"size": len(call.got), "headers": call.response_headers, "status": call.status},
        "route": {"name": "summary-agent", "id": "0f1a4101-3327-4274-b1e4-484a4ab0c030", "paths": [PREFIX], "strip_path": True},
        "workspace_name": "default",
        "tries": [{"balancer_start": call.start // 10**6, "ip": "127.0.0.1", "balancer_latency": 0, "port": 41001}],
        "client_ip": call.client.rsplit(":", 1)[0],
        "request": {
            "id": "2f6946328ffc4946b8c9120704a4a155", "headers": call.headers | {"host": f"{HOST}:8000"}, "uri": call.path,
            "size": len(call.sent), "method": call.http_method, "querystring": {}, "url": f"http://{HOST}:8000{call.path}",
        },
        "upstream_uri": call.path[len(PREFIX):], "started_at": call.start // 10**6, "source": "upstream",
        "upstream_status": str(call.status),
        "latencies": {"kong": 1, "proxy": round(call.millis), "request": round(call.millis) + 1, "receive": 0},
        "service": {"name": "summary-agent", "host": "127.0.0.1", "port": 41001, "protocol": "http", "retries": 5},
    }
    if call.request or call.is_card:
        entry["ai"] = {"a2a": {"rpc": [{key: value for key, value in rpc.items() if value is not None}]}}
    if "authorization" in call.headers:
        entry["request"]["headers"] = entry["request"]["headers"] | {"authorization": "REDACTED"}
    return entry


# -- aisix --------------------------------------------------------------------------------------------------------------
OPERATIONS = {
    "SendMessage": "message/send", "SendStreamingMessage": "message/stream", "GetTask": "tasks/get", "ListTasks": "tasks/list",
    "CancelTask": "tasks/cancel", "SubscribeToTask": "tasks/resubscribe",
}


def aisix(call):
    method = (call.request or {}).get("method", "")
    event = {
        "request_id": f"req-{call.start}", "occurred_at": rfc3339(call.end, -1), "api_key_id": "key-1",
        "status_code": call.status, "upstream_latency_ms": int(call.millis), "downstream_latency_ms": int(call.millis),
        "inbound_protocol": "a2a", "operation": "a2a", "client_source_ip": call.client.rsplit(":", 1)[0],
        "a2a_agent_name": "Summary Agent", "a2a_method": method, "a2a_operation": OPERATIONS.get(method, "unknown"),
        "a2a_protocol_version": "1.0", "a2a_task_id": call.task_id or "", "a2a_context_id": call.seen("contextId") or "",
        "a2a_task_state": STATES.get(call.seen("status", "state"), ""),
        "a2a_stream_event_count": len(call.answers) if call.streams else 0,
    }
    return {key: value for key, value in event.items() if value not in ("", 0)}


# -- Envoy --------------------------------------------------------------------------------------------------------------
def envoy_json(call):
    return {
        "start_time": rfc3339(call.start, 3), "method": call.http_method, "path": call.path, "protocol": "HTTP/1.1",
        "response_code": call.status, "response_flags": "-", "response_code_details": "via_upstream",
        "connection_termination_details": None, "upstream_transport_failure_reason": None,
        "bytes_received": len(call.sent), "bytes_sent": len(call.got), "duration": round(call.millis),
        "upstream_service_time": str(round(call.millis)), "x_forwarded_for": None, "user_agent": "python-httpx/0.28.1",
        "request_id": "a279ad6e-0e1c-98ea-9d74-d6028e2017f8", "authority": f"{HOST}:8080", "upstream_host": call.upstream,
        "upstream_cluster": "outbound|80||summary.agents.svc.cluster.local", "upstream_local_address": "172.17.0.4:46062",
        "downstream_local_address": "172.17.0.4:8080", "downstream_remote_address": call.client,
        "requested_server_name": None, "route_name": "default",
    }


def envoy_text(call, istio):
    say = envoy_json(call)
    head = f'[{say["start_time"]}] "{call.http_method} {call.path} HTTP/1.1" {call.status} -'
    numbers = f'{say["bytes_received"]} {say["bytes_sent"]} {say["duration"]} {say["duration"]}'
    quotes = f'"-" "{say["user_agent"]}" "{say["request_id"]}" "{say["authority"]}" "{call.upstream}"'
    if not istio:
        return f"{head} {numbers} {quotes}"
    rest = f'{say["upstream_cluster"]} {say["upstream_local_address"]} {say["downstream_local_address"]} {call.client} - default'
    return f'{head} via_upstream - "-" {numbers} {quotes} {rest}'


def rest_calls():
    """The calls of the HTTP+JSON binding, whose paths an access log tells."""
    for line in open(CAPTURE.replace("jsonrpc.", "rest."), encoding="utf-8"):
        taped = json.loads(line)
        if taped["leg"] == "agent":
            yield Call(taped)


def main():
    taped = list(calls())
    dumps = lambda value: json.dumps(value, separators=(",", ":"))
    head = lambda call: {"level": "info", "time": rfc3339(call.end), "scope": "request"}
    write("agentgateway", "access.json.log", (dumps(head(call) | agentgateway(call)) for call in taped))
    write("agentgateway", "access.text.log", (agentgateway_text(call) for call in taped))
    write("kong", "statistics.ndjson", (dumps(kong(call)) for call in taped))
    write("kong", "payloads.ndjson", (dumps(kong(call, 1 << 20)) for call in taped))
    write("kong", "truncated.ndjson", (dumps(kong(call, 600)) for call in taped))
    write("aisix", "usage.ndjson", (dumps(aisix(call)) for call in taped if call.http_method == "POST"))
    rest = list(rest_calls())
    write("envoy", "istio.ndjson", (dumps(envoy_json(call)) for call in rest))
    write("envoy", "default.log", (envoy_text(call, False) for call in rest))
    write("envoy", "istio.log", (envoy_text(call, True) for call in rest))


main()
