// Records runs: `node run.mjs [js|jsrest|js03 ...]`. In: nothing. Out: the files of tests/captures/a2a-js-1.3.0.
// It starts the agent, the client, the webhook receiver, the OTLP sink and two recording proxies on loopback.
import { fork } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { exchangeLine, har, otlpSink, recordingProxy } from './proxy.mjs';
import { webhook } from './webhook.mjs';

const HERE = new URL('.', import.meta.url);
const OUT = fileURLToPath(new URL('../../captures/a2a-js-1.3.0/', HERE));
/** First port, whether the agent speaks 0.3 too, what is kept beside the steps (all of it would be too much to commit). */
const RUNS = {
  js: { port: 51001, legacy: true, keeps: ['exchanges', 'traces', 'console'] },
  jsrest: { port: 52001, legacy: false, keeps: ['har'] },
  js03: { port: 53001, legacy: true, keeps: ['exchanges'] },
};
const SINK = 51318;

function start(script, env, onMessage) {
  const child = fork(fileURLToPath(new URL(script, HERE)), {
    env: { PATH: process.env.PATH, ...env },
    execArgv: ['--import', fileURLToPath(new URL('otel.mjs', HERE))],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  child.on('message', onMessage);
  return child;
}

/** Console lines as a container runtime frames them; stack frames are left out (they are paths of a machine). */
function criFrames(child, lines) {
  for (const [name, stream] of [
    ['stdout', child.stdout],
    ['stderr', child.stderr],
  ]) {
    stream.setEncoding('utf8');
    stream.on('data', (words) => {
      for (const line of words.split('\n')) {
        if (line !== '' && !/^\s+at /.test(line)) lines.push(`${new Date().toISOString()} ${name} F ${line}`);
      }
    });
  }
}

class Recording {
  tape = [];
  traces = [];
  console = [];
  steps = [];
  events = [];
  lives = 0;

  constructor(run) {
    Object.assign(this, { run, ...RUNS[run] });
  }

  async record() {
    const { port, tape } = this;
    const hook = await webhook(port + 101);
    this.hook = hook;
    const servers = [
      hook.server,
      await otlpSink({ port: SINK, lines: this.traces }),
      await recordingProxy({ port, upstream: port + 100, leg: 'agent', tape }),
      await recordingProxy({ port: port + 1, upstream: port + 101, leg: 'webhook', tape }),
    ];
    await this.startAgent();
    await this.runClient();
    await this.stopAgent();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    this.write();
  }

  environment(service) {
    const traces = this.keeps.includes('traces') ? { TRACES_TO: `http://127.0.0.1:${SINK}/v1/traces` } : {};
    return { PUBLIC_PORT: String(this.port), SERVICE_NAME: service, ...traces };
  }

  startAgent() {
    return new Promise((resolve) => {
      const env = {
        ...this.environment('summary-agent'),
        LISTEN: String(this.port + 100),
        LEGACY: this.legacy ? '1' : '0',
        LIFE: String(++this.lives),
      };
      this.agent = start('server.mjs', env, (message) => {
        if (message.ready) resolve();
        if (message.done !== undefined) this.ordered?.();
      });
      criFrames(this.agent, this.console);
    });
  }

  tell(order) {
    return new Promise((resolve) => {
      this.ordered = resolve;
      this.agent.send({ ...order, seq: 1 });
    });
  }

  stopAgent() {
    const gone = new Promise((resolve) => this.agent.on('exit', resolve));
    this.agent.send({ stop: true });
    return gone;
  }

  runClient() {
    return new Promise((resolve, reject) => {
      const env = {
        ...this.environment('orchestrator'),
        RUN: this.run,
        HOOK: `http://127.0.0.1:${this.port + 1}/hooks/a2a`,
      };
      const client = start('client.mjs', env, async (message) => {
        if (message.step) this.steps.push(JSON.stringify(message.step));
        if (message.event) this.events.push(JSON.stringify(message.event));
        if (message.order) client.send({ done: message.seq, answer: await this.obey(message.order) });
      });
      client.stdout.pipe(process.stdout);
      client.stderr.pipe(process.stderr);
      client.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`client of ${this.run} ended with ${code}`))));
    });
  }

  async obey(order) {
    if (order.webhookRefuses !== undefined) {
      this.hook.refuses = order.webhookRefuses;
      return {};
    }
    if (order.traces !== undefined) return this.keepTraces(order.traces);
    if (order.watch) return this.watch(order.watch);
    if (order.restart) {
      await this.stopAgent();
      await this.startAgent();
      return {};
    }
    await this.tell(order);
    return {};
  }

  /** From here on the exporters' requests are kept, or no more; the client has sent its own before it asks. */
  async keepTraces(wanted) {
    await this.tell({ flush: true });
    this.traces.wanted = wanted;
    return {};
  }

  /** Another party's look at the card, from another loopback address. */
  watch(version) {
    return new Promise((resolve, reject) => {
      request(
        {
          host: '127.0.0.1',
          port: this.port,
          path: '/.well-known/agent-card.json',
          localAddress: '127.0.0.7',
          headers: { 'User-Agent': 'card-watcher', 'A2A-Version': version, Accept: 'application/json' },
        },
        (response) => {
          response.resume();
          response.on('end', () => resolve({ etag: response.headers.etag }));
        },
      )
        .on('error', reject)
        .end();
    });
  }

  write() {
    mkdirSync(OUT, { recursive: true });
    const keep = (suffix, lines) => writeFileSync(`${OUT}${this.run}.${suffix}`, `${lines.join('\n')}\n`);
    const tape = this.tape.sort((a, b) => (a.start_unix_ns < b.start_unix_ns ? -1 : 1));
    const files = {
      exchanges: () => keep('exchanges.ndjson', tape.map(exchangeLine)),
      har: () => keep('har', [har(tape)]),
      traces: () => keep('traces.otlp.jsonl', this.traces),
      console: () => keep('console.cri.log', this.console),
    };
    for (const kind of this.keeps) files[kind]();
    keep('steps.ndjson', this.steps);
    if (this.events.length > 0) keep('events.ndjson', this.events);
    console.log(`${this.run}: ${tape.length} exchanges, ${this.steps.length} steps`);
  }
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((run) => !(run in RUNS));
if (wanted.length === 0 || unknown.length > 0) {
  console.error(`usage: node run.mjs RUN...; runs: ${Object.keys(RUNS).join(', ')}`);
  process.exit(2);
}
for (const run of wanted) await new Recording(run).record();
