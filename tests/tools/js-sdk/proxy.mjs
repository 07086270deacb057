// Recording reverse proxy and OTLP sink.
// In: loopback HTTP. Out: one exchange a line as described in tests/captures/README.md, and a HAR of the same. It changes
// no byte and no header; bodies are kept as text, streams also with the arrival time of every write.
import { createServer, request as forward } from 'node:http';

const MAX_BODY = 1 << 20;

function pairs(raw) {
  const out = [];
  for (let i = 0; i < raw.length; i += 2) out.push([raw[i], raw[i + 1]]);
  return out;
}

function body(chunks) {
  const bytes = Buffer.concat(chunks);
  if (bytes.length === 0) return null;
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? { text } : { base64: bytes.toString('base64') };
}

function nowNs() {
  return BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n;
}

function isoMicros(ns) {
  const micros = String((ns / 1000n) % 1000000n).padStart(6, '0');
  return `${new Date(Number(ns / 1000000n)).toISOString().slice(0, 19)}.${micros}Z`;
}

/** Listens on `port`, sends everything on to `upstream`, and adds each exchange to `tape`. */
export function recordingProxy({ port, upstream, leg, tape }) {
  const server = createServer((req, res) => {
    const start = nowNs();
    const t0 = performance.now();
    const sent = [];
    const received = [];
    const chunks = [];
    const line = {
      startedDateTime: isoMicros(start),
      start_unix_ns: start,
      leg,
      client: `${req.socket.remoteAddress}:${req.socket.remotePort}`,
      server: `127.0.0.1:${port}`,
      request: {
        method: req.method,
        url: `http://${req.headers.host}${req.url}`,
        httpVersion: `HTTP/${req.httpVersion}`,
        headers: pairs(req.rawHeaders),
        body: null,
      },
      response: null,
    };
    tape.push(line);
    const finish = (response) => {
      line.request.body = body(sent);
      line.response = {
        status: response.statusCode,
        httpVersion: `HTTP/${response.httpVersion}`,
        headers: pairs(response.rawHeaders),
        body: body(received),
      };
      line.time_ms = Math.round((performance.now() - t0) * 1000) / 1000;
      if (/^text\/event-stream/.test(response.headers['content-type'] ?? '')) line.chunks = chunks;
    };
    const out = forward(
      { host: '127.0.0.1', port: upstream, method: req.method, path: req.url, headers: pairs(req.rawHeaders).flat() },
      (response) => {
        res.writeHead(response.statusCode, response.statusMessage, response.rawHeaders);
        response.on('data', (chunk) => {
          if (received.length < MAX_BODY) received.push(chunk);
          chunks.push({ t_ms: Math.round((performance.now() - t0) * 1000) / 1000, text: chunk.toString('utf8') });
          res.write(chunk);
        });
        response.on('end', () => {
          finish(response);
          res.end();
        });
        res.on('close', () => {
          if (response.complete) return;
          line.client_disconnected = true;
          finish(response);
          response.destroy();
        });
      },
    );
    out.on('error', () => res.destroy());
    req.on('data', (chunk) => {
      sent.push(chunk);
      out.write(chunk);
    });
    req.on('end', () => out.end());
  });
  return listen(server, port);
}

/** An OTLP/HTTP sink: what the exporter sent while `lines.wanted`, byte for byte, one request a line. */
export function otlpSink({ port, lines }) {
  const server = createServer((req, res) => {
    const parts = [];
    req.on('data', (part) => parts.push(part));
    req.on('end', () => {
      if (lines.wanted) lines.push(Buffer.concat(parts).toString('utf8'));
      res.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  return listen(server, port);
}

export function listen(server, port) {
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

/** One line of an exchanges file. The start is a number of nanoseconds, beyond what JSON.stringify can write. */
export function exchangeLine(line) {
  const ns = line.start_unix_ns.toString();
  return JSON.stringify({ ...line, start_unix_ns: 0 }).replace('"start_unix_ns":0', `"start_unix_ns":${ns}`);
}

const harHeaders = (headers) => headers.map(([name, value]) => ({ name, value }));
const header = (headers, name) => headers.find(([key]) => key.toLowerCase() === name)?.[1] ?? '';

/** HAR 1.2 of the same exchanges. */
export function har(tape) {
  const entries = tape.map(({ startedDateTime, time_ms, request, response }) => {
    const sent = request.body?.text;
    const received = response.body?.text ?? '';
    return {
      startedDateTime,
      time: time_ms,
      request: {
        method: request.method,
        url: request.url,
        httpVersion: request.httpVersion,
        cookies: [],
        headers: harHeaders(request.headers),
        queryString: [...new URL(request.url).searchParams].map(([name, value]) => ({ name, value })),
        headersSize: -1,
        bodySize: Buffer.byteLength(sent ?? ''),
        ...(sent === undefined ? {} : { postData: { mimeType: header(request.headers, 'content-type'), text: sent } }),
      },
      response: {
        status: response.status,
        statusText: '',
        httpVersion: response.httpVersion,
        cookies: [],
        headers: harHeaders(response.headers),
        content: {
          size: Buffer.byteLength(received),
          mimeType: header(response.headers, 'content-type'),
          text: received,
        },
        redirectURL: '',
        headersSize: -1,
        bodySize: Buffer.byteLength(received),
      },
      cache: {},
      timings: { send: 0, wait: time_ms, receive: 0 },
    };
  });
  return JSON.stringify({
    log: { version: '1.2', creator: { name: 'js-sdk-captures', version: '1' }, pages: [], entries },
  });
}
