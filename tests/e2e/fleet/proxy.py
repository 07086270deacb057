"""A recording reverse proxy: every exchange that passes goes to a2a-drift, as one line of NDJSON.

It changes no byte and no header that matters; it works on connections, so that what breaks on one side breaks on the other.
HTTP/1.1 with `Connection: close` to the agent: the end of a response is the end of the connection.
"""

import asyncio
import contextlib
import datetime
import json
import time
import urllib.error
import urllib.request


class Tape:
    """Lines on their way to a2a-drift, kept until it has acknowledged them."""

    def __init__(self, url):
        self.url = url
        self.lines = asyncio.Queue()
        self.sent = 0

    def add(self, line):
        self.lines.put_nowait(json.dumps(line))

    def close(self):
        self.lines.put_nowait(None)

    async def deliver(self):
        ended = False
        while not ended:
            batch = [await self.lines.get()]
            await asyncio.sleep(0.05)
            while not self.lines.empty():
                batch.append(self.lines.get_nowait())
            ended = batch[-1] is None
            lines = [line for line in batch if line is not None]
            while lines and not await asyncio.to_thread(self.post, lines):
                await asyncio.sleep(0.5)
            self.sent += len(lines)

    def post(self, lines):
        body = "\n".join(lines).encode() + b"\n"
        request = urllib.request.Request(self.url, body, {"content-type": "application/x-ndjson"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status == 200
        except urllib.error.HTTPError as error:
            if error.code not in (429, 502, 503, 504):
                raise RuntimeError(f"exchanges were refused: {error.code} {error.read()[:500]}") from error
            return False
        except OSError:
            return False


# Exchanges that are not recorded yet.
UNDER_WAY = set()


async def front(tape, leg, port, upstream):
    """Listens at `port` for what is meant for `upstream`."""

    async def one(reader, writer):
        # Once the client has gone nobody else holds this task: it would be collected before it has recorded what passed.
        task = asyncio.current_task()
        UNDER_WAY.add(task)
        task.add_done_callback(UNDER_WAY.discard)
        try:
            await exchange(tape, leg, port, upstream, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    return await asyncio.start_server(one, "127.0.0.1", port)


async def exchange(tape, leg, port, upstream, reader, writer):
    """One request and its response."""
    head = await reader.readuntil(b"\r\n\r\n")
    began, started = time.time_ns(), time.monotonic()
    (method, path, version), headers = parse(head)
    length = int(dict((k.lower(), v) for k, v in headers).get("content-length", 0))
    sent = await reader.readexactly(length)
    server_reader, server_writer = await asyncio.open_connection("127.0.0.1", upstream)
    lines = [f"{method} {path} HTTP/1.1"] + [f"{k}: {v}" for k, v in headers if k.lower() != "connection"]
    server_writer.write("\r\n".join([*lines, "connection: close", "", ""]).encode() + sent)
    answer_head = await server_reader.readuntil(b"\r\n\r\n")
    (_, status, *_), answered = parse(answer_head)
    kept = [(k, v) for k, v in answered if k.lower() not in ("connection", "transfer-encoding")]
    is_chunked = any(k.lower() == "transfer-encoding" for k, _ in answered)
    # The end of the body is the end of the connection here as well, unless it breaks off.
    writer.write(answer_head.replace(b"connection: close\r\n", b"").replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
    body, chunks = b"", []
    # A client that has all it wants goes at once: what passes is recorded all the same.
    with contextlib.suppress(ConnectionError):
        while piece := await server_reader.read(1 << 16):
            body += piece
            chunks.append((round((time.monotonic() - started) * 1000, 3), piece))
            with contextlib.suppress(ConnectionError):
                writer.write(piece)
                await writer.drain()
    server_writer.close()
    is_stream = any(k.lower() == "content-type" and "event-stream" in v for k, v in kept)
    host = dict((k.lower(), v) for k, v in headers).get("host", f"127.0.0.1:{port}")
    line = {
        "startedDateTime": datetime.datetime.fromtimestamp(began / 1e9, datetime.UTC).isoformat(),
        "start_unix_ns": began,
        "time_ms": round((time.monotonic() - started) * 1000, 3),
        "leg": leg,
        "server": f"127.0.0.1:{port}",
        "request": {"method": method, "url": f"http://{host}{path}", "headers": headers, "body": text(sent)},
        "response": {"status": int(status), "headers": kept, "body": text(unchunked(body) if is_chunked else body)},
    }
    if is_stream:
        line["chunks"] = [{"t_ms": at, "text": unchunked(piece).decode("utf-8", "replace")} for at, piece in chunks]
    tape.add(line)


def parse(head):
    """First line and headers."""
    first, *rest = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    return first.split(" ", 2), [tuple(part.strip() for part in line.split(":", 1)) for line in rest]


def unchunked(body):
    """What chunked transfer encoding carries, as far as it goes."""
    out = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        try:
            length = int(size, 16)
        except ValueError:
            break
        if length == 0:
            break
        out, body = out + body[:length], body[length + 2 :]
    return out


def text(body):
    return {"text": body.decode("utf-8", "replace")} if body else None
