"""Exporters deliver spans: none is missing, none is there twice."""

import os
import subprocess
import time

from stack import PATIENCE, Failure, Serve, say, wait


def run(context):
    """Python over gRPC, HTTP/protobuf and HTTP/JSON, and JavaScript over HTTP/JSON, all at once."""
    folder = context.folder("delivery")
    serve = context.own(Serve(context.binary, folder, '[serve]\nsettle = "1s"\n')).wait()
    python = os.path.join(context.here, "senders", "spans.py")
    javascript = os.path.join(context.here, "senders", "spans.mjs")
    count = str(context.spans)
    commands = {
        "python-grpc": [context.python, python, "grpc", serve.grpc, "python-grpc", count],
        "python-http": [context.python, python, "http", serve.http, "python-http", count],
        "python-json": [context.python, python, "json", serve.http, "python-json", count],
        "js": ["node", javascript, serve.http, "js", count],
    }
    started = time.monotonic()
    senders = {
        name: subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=context.js)
        for name, command in commands.items()
    }
    for name, sender in senders.items():
        said, _ = sender.communicate(timeout=1800)
        if sender.returncode != 0 or said.strip() != count:
            raise Failure(f"{name} delivered {said.strip()} of {count}, ended with {sender.returncode}\n{serve.tail()}")
    took = time.monotonic() - started
    received = serve.total("a2a_drift_received_total")
    wanted = context.spans * len(senders)
    # A sender that was told to come again is received twice, and stored once.
    if received < wanted:
        raise Failure(f"{wanted} spans were delivered, {received:.0f} received")
    # The last spans become facts when their traces are settled and the time for late ones is over, some 62 s after they came.
    wait("all traces to be complete", lambda: serve.metrics()["a2a_drift_open_records"] == 0, patience=3 * PATIENCE)
    # Of the service as it runs.
    check(serve, senders, context.spans)
    if serve.stop(300) != 0:
        raise Failure(f"serve did not end well\n{serve.tail()}")
    say(f"   {wanted} spans by {', '.join(senders)} in {took:.0f} s ({wanted / took:.0f} a second), {received - wanted:.0f} sent again: all there, none twice")


def check(serve, senders, count):
    """What is stored of each sender: one call a span, of one task each."""
    rows = serve.query(
        "SELECT agent_ref, count(*) AS facts, count(DISTINCT call_id) AS calls, count(DISTINCT task_id) AS tasks "
        "FROM exchanges GROUP BY agent_ref ORDER BY agent_ref"
    )
    by_agent = {row["agent_ref"]: row for row in rows}
    for name in senders:
        row = next((row for agent, row in by_agent.items() if f"{name}.example" in agent), None)
        if row is None or (row["facts"], row["calls"], row["tasks"]) != (count, count, count):
            raise Failure(f"{count} spans of {name}, but stored is {row}")
