// The client `orchestrator`. In: RUN, the agent's public port and the webhook's url. Out: calls through the official SDK
// client, and the truth (what was done and what the client saw) to the driver over IPC. The steps are in steps.mjs.
import { Role, TaskState } from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { predictableIds } from './ids.mjs';
import { RUNS } from './steps.mjs';

const { RUN, PUBLIC_PORT, HOOK } = process.env;
const base = `http://127.0.0.1:${PUBLIC_PORT}`;
predictableIds(`${PUBLIC_PORT}:client`);

let seq = 0;
const waiting = new Map();
process.on('message', ({ done, answer }) => {
  waiting.get(done)?.(answer);
  waiting.delete(done);
});
/** Asks the driver for something outside the protocol: a fault, a restart, another party's look. */
const order = (what) =>
  new Promise((resolve) => {
    waiting.set(++seq, resolve);
    process.send({ order: what, seq });
  });

/** The name of a state, from the SDK's enum. */
export const stateName = (task) => TaskState[task?.status?.state]?.replace('TASK_STATE_', '');

class Caller {
  base = base;
  hook = HOOK;
  order = order;
  keepTraces = async (traces) => {
    await globalThis.flushTraces();
    await order({ traces });
  };

  constructor(binding) {
    this.binding = binding;
  }

  /** Resolves the card as the SDK does, and takes the transport of the wished binding and dialect. */
  async connect(legacyCard) {
    const legacyCompat = legacyCard ? { enabled: true } : undefined;
    const factory = new ClientFactory({
      transports: [new JsonRpcTransportFactory({ legacyCompat }), new RestTransportFactory({ legacyCompat })],
      preferredTransports: [this.binding],
      cardResolver: new DefaultAgentCardResolver({ legacyCompat }),
    });
    this.sdk = legacyCard ? await factory.createFromAgentCard(legacyCard) : await factory.createFromUrl(base);
    return this.sdk.agentCard;
  }

  /** A look at the card with the SDK's resolver; the transport in use stays. */
  look() {
    return new DefaultAgentCardResolver().resolve(base);
  }

  message(words, { skill, taskId = '', contextId = '' } = {}) {
    return {
      messageId: crypto.randomUUID(),
      taskId,
      contextId,
      role: Role.ROLE_USER,
      parts: [{ content: { $case: 'text', value: words }, mediaType: 'text/plain', filename: '', metadata: undefined }],
      metadata: skill && { skillId: skill },
      extensions: [],
      referenceTaskIds: [],
    };
  }

  params(words, { push, now, ...named } = {}) {
    return {
      tenant: '',
      message: this.message(words, named),
      metadata: undefined,
      configuration: {
        acceptedOutputModes: named.skill ? ['text/markdown'] : [],
        historyLength: undefined,
        returnImmediately: now === true,
        taskPushNotificationConfig: push,
      },
    };
  }

  pushConfig({ id = '', taskId = '', token = '', credentials }) {
    return {
      tenant: '',
      id,
      taskId,
      url: HOOK,
      token,
      authentication: credentials && { scheme: 'Bearer', credentials },
    };
  }

  send(words, named) {
    return this.sdk.sendMessage(this.params(words, named));
  }

  async stream(words, named) {
    const events = [];
    for await (const event of this.sdk.sendMessageStream(this.params(words, named))) events.push(event.payload);
    const last = events.at(-1)?.value;
    return { task: events[0]?.value?.id, state: stateName(last), events: events.length };
  }

  get(id) {
    return this.sdk.getTask({ tenant: '', id, historyLength: undefined });
  }
  cancel(id) {
    return this.sdk.cancelTask({ tenant: '', id, metadata: undefined });
  }

  async subscribe(id) {
    let events = 0;
    for await (const _ of this.sdk.resubscribeTask({ tenant: '', id })) events += 1;
    return events;
  }

  /** A call that the SDK client would not make. */
  async raw(path, { method = 'POST', version, body, headers = {} } = {}) {
    const response = await fetch(base + path, {
      method,
      body: typeof body === 'object' ? JSON.stringify(body) : body,
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(version === undefined ? {} : { 'A2A-Version': version }),
        ...headers,
      },
    });
    const words = await response.text();
    let json;
    try {
      json = JSON.parse(words);
    } catch {
      json = undefined;
    }
    return { status: response.status, etag: response.headers.get('etag'), json };
  }

  /** The truth, one line. */
  step(step, what, more = {}) {
    process.send({ step: { t: Date.now() / 1000, binding: this.binding, step, what, ...more } });
  }

  /** The client's own statement on a task, as an own event. */
  event(line) {
    process.send({ event: { time: new Date().toISOString(), ...line } });
  }
}

/** Name and text of what a promise is rejected with. */
export const failure = (promise) =>
  promise.then(
    () => null,
    (error) => `${error.name}: ${error.message}`,
  );
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

for (const [binding, steps] of RUNS[RUN]) {
  const caller = new Caller(binding);
  for (const step of steps) await step(caller);
}
await globalThis.flushTraces();
process.send({ end: true });
process.disconnect();
