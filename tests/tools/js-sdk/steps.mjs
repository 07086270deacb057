// The steps of every run, numbered as in tests/captures/README.md. In: a Caller of client.mjs. Out: nothing but what it does.
import { failure, pause, stateName } from './client.mjs';
import { crashes, errors, fewErrors, legacyErrors, restErrors, rpcErrors } from './errors.mjs';

const SKILL = 'summarize-v2';

async function cards(c) {
  const seen = await c.connect();
  c.step('s01', 'card fetched by the SDK, which says A2A-Version 1.0', {
    version: seen.version,
    skills: seen.skills.map((s) => s.id),
  });
  const path = '/.well-known/agent-card.json';
  const modern = await c.raw(path, { method: 'GET', version: '1.0' });
  const again = await c.raw(path, { method: 'GET', version: '1.0', headers: { 'If-None-Match': modern.etag } });
  c.step('s01b', 'conditional GET with fetch, which adds Cache-Control: no-cache of its own', {
    etag: modern.etag,
    status: again.status,
  });
  const fresh = await c.raw(path, {
    method: 'GET',
    version: '1.0',
    headers: { 'If-None-Match': modern.etag, 'Cache-Control': 'max-age=0' },
  });
  c.step('s01c', 'conditional GET with its own Cache-Control', { status: fresh.status });
}

async function legacyShape(c) {
  const path = '/.well-known/agent-card.json';
  const absent = await c.raw(path, { method: 'GET' });
  const named = await c.raw(path, {
    method: 'GET',
    version: '0.3',
    headers: { 'If-None-Match': absent.etag, 'Cache-Control': 'max-age=0' },
  });
  c.step('s01d', 'the same card without A2A-Version, then with 0.3 and If-None-Match: the 0.3 shape', {
    etag: absent.etag,
    protocolVersion: absent.json.protocolVersion,
    status: named.status,
  });
}

async function legacyCard(c) {
  const { json } = await c.raw('/.well-known/agent-card.json', { method: 'GET' });
  // The server merges the 1.0 interfaces into the 0.3 shape; a client of 0.3 does not know them, this SDK would take them.
  delete json.supportedInterfaces;
  await c.connect(json);
  c.step(
    's01',
    'card fetched without A2A-Version: the 0.3 shape with supportedInterfaces merged in; without those the SDK takes its 0.3 transport',
    { version: json.version, protocolVersion: json.protocolVersion },
  );
}

async function blocking(c) {
  const task = await c.send('summarise please', { skill: SKILL });
  c.first = task;
  c.step('s02', 'blocking send ok; skill in message.metadata.skillId; artifact text/markdown as the card says', {
    task: task.id,
    state: stateName(task),
  });
}

async function data(c) {
  const task = await c.send('data please');
  c.step('s02d', 'no skill named; data part artifact application/json', { task: task.id, state: stateName(task) });
}

async function rejected(c) {
  const task = await c.send('reject please');
  c.step('s02g', 'agent rejects', { task: task.id, state: stateName(task) });
}

async function streaming(c) {
  c.step('s03', 'streaming send; 3 chunks append/lastChunk', await c.stream('stream please', { skill: SKILL }));
}

async function reads(c) {
  const task = await c.get(c.first.id);
  c.step('s04', 'get task', { task: task.id, state: stateName(task) });
}

async function list(c) {
  const { tasks } = await c.sdk.listTasks({
    tenant: '',
    contextId: c.first.contextId,
    status: 0,
    pageSize: undefined,
    pageToken: '',
    historyLength: undefined,
    statusTimestampAfter: undefined,
    includeArtifacts: undefined,
  });
  c.step('s04b', 'list tasks of a context; the answer leaves artifacts out', { n: tasks.length });
}

async function extended(c) {
  const seen = await c.sdk.getAgentCard();
  c.step('s04c', 'extended card fetched', { description: seen.description });
}

async function nonBlocking(c) {
  const task = await c.send('slow please', { skill: SKILL, now: true });
  const polled = await c.get(task.id);
  c.step('s05', 'non-blocking send, then poll', { task: task.id, state: stateName(task), polled: stateName(polled) });
  const stream = c.subscribe(task.id);
  await pause(80);
  const canceled = await c.cancel(task.id);
  c.step('s05b', 'cancel', { task: task.id, state: stateName(canceled) });
  c.step('s05c', 'subscribe stream during cancel', { events: await stream });
  const again = await c.cancel(task.id).then(stateName, (error) => error.name);
  c.step('s05d', 'cancel a canceled task: this SDK answers the task, no error', { task: task.id, answer: again });
}

async function policy(c) {
  const task = await c.send('ask please', { skill: SKILL });
  c.step('s06', 'input-required', { task: task.id, ctx: task.contextId, state: stateName(task) });
  await c.order({ card: 'policy' });
  c.step('s06a', 'FAULT policy change: skill gets securityRequirements, version still 1.0.0; client does not refetch');
  c.step('s06b', 'a watcher at 127.0.0.7 fetches the card (new policy visible)', await c.order({ watch: '1.0' }));
  const resumed = await c.send('three lines', { taskId: task.id, contextId: task.contextId });
  c.step('s06c', 'FAULT resumed after policy change without re-check: completes', {
    task: task.id,
    state: stateName(resumed),
  });
}

async function pushInline(c) {
  const inline = await c.send('push please', {
    skill: SKILL,
    push: c.pushConfig({ credentials: 'throwaway-bearer-1' }),
  });
  await pause(150);
  c.step('s07', 'push config inline, with authentication: delivered with Authorization; webhook answers 204', {
    task: inline.id,
    state: stateName(inline),
  });
}

async function pushByMethod(c) {
  const task = await c.send('push please', { skill: SKILL, now: true });
  const config = await c.sdk.createTaskPushNotificationConfig(
    c.pushConfig({ id: 'cfg-1', taskId: task.id, token: 'throwaway-token-1' }),
  );
  const { configs } = await c.sdk.listTaskPushNotificationConfig({
    tenant: '',
    taskId: task.id,
    pageSize: 0,
    pageToken: '',
  });
  await pause(200);
  const at = { tenant: '', taskId: task.id, id: config.id };
  await c.sdk.getTaskPushNotificationConfig(at);
  await c.sdk.deleteTaskPushNotificationConfig(at);
  c.step(
    's07b',
    'push config create/list/get/delete by method, with token only: delivered with X-A2A-Notification-Token; webhook answers 204',
    { task: task.id, configs: configs.length },
  );
}

async function storm(c) {
  await c.order({ webhookRefuses: true });
  for (let i = 1; i <= 3; i++) {
    const task = await c.send('push please', {
      skill: SKILL,
      push: c.pushConfig({ credentials: 'throwaway-bearer-2' }),
    });
    await pause(150);
    c.step('s08', `FAULT webhook 401 storm: every delivery of task ${i} of 3 answered 401`, {
      task: task.id,
      state: stateName(task),
    });
  }
  await c.order({ webhookRefuses: false });
}

async function staleCard(c, { streams = true } = {}) {
  await c.order({ card: 'retired', runtime: { skills: ['translate-v1'] } });
  c.step('s09', 'FAULT card mutated: summarize-v2 retired, translate-v1 added, version still 1.0.0; client keeps its card');
  for (let i = 1; i <= 3; i++) {
    const task = await c.send('summarise please', { skill: SKILL });
    c.step('s09a', `FAULT unknown skill inside the lifecycle, try ${i} of 3 on the stale card`, {
      task: task.id,
      state: stateName(task),
    });
  }
  if (streams) c.step('s09b', 'FAULT unknown skill, streaming', await c.stream('stream please', { skill: SKILL }));
}

async function refetch(c) {
  const seen = await c.look();
  const { etag } = await c.raw('/.well-known/agent-card.json', { method: 'GET', version: '1.0' });
  const { status } = await c.raw('/.well-known/agent-card.json', {
    method: 'GET',
    version: '1.0',
    headers: { 'If-None-Match': etag, 'Cache-Control': 'max-age=0' },
  });
  c.step('s09c', 'card refetched twice: same version, other skills; then a conditional GET', {
    etag,
    version: seen.version,
    skills: seen.skills.map((s) => s.id),
    status,
  });
}

async function refetchLegacy(c) {
  const { etag, json } = await c.raw('/.well-known/agent-card.json', { method: 'GET' });
  c.step('s09c', 'card refetched: same version, other skills', {
    etag,
    version: json.version,
    skills: json.skills.map((s) => s.id),
  });
}

/** The card and the runtime are as in the beginning again. */
const restored = (c) => c.order({ card: 'base', runtime: { skills: [SKILL] } });

async function lookAgain(c) {
  const seen = await c.look();
  c.step('s09e', 'card is back and looked at', { version: seen.version, skills: seen.skills.map((s) => s.id) });
}

async function otherMode(c) {
  await c.order({ card: 'redefined', runtime: { skills: ['summarize-v2'], artifactType: 'text/plain' } });
  c.step(
    's10',
    'FAULT variant B: summarize-v2 reused with outputModes text/plain, version still 1.0.0; the client has not looked since s09c',
  );
  const task = await c.send('summarise please', { skill: SKILL });
  c.step(
    's10a',
    'FAULT artifact text/plain where the last card with that skill that anyone saw says text/markdown; task completes',
    { task: task.id, state: stateName(task) },
  );
  c.step('s10b', 'FAULT same, streaming', await c.stream('stream please', { skill: SKILL }));
  const seen = await c.look();
  c.step('s10c', 'card refetched: summarize-v2 is back, with text/plain', {
    skills: seen.skills.map((s) => s.id),
    modes: seen.skills[0].outputModes,
  });
  const agreed = await c.send('summarise please', { skill: SKILL });
  c.step('s10d', 'artifact text/plain as the card now says (though the request accepts text/markdown only)', {
    task: agreed.id,
    state: stateName(agreed),
  });
  await c.order({ card: 'base' });
  await c.look();
  const again = await c.send('summarise please', { skill: SKILL });
  c.step('s10e', 'FAULT card is back to text/markdown and looked at; artifact text/plain all the same', {
    task: again.id,
    state: stateName(again),
  });
  await c.order({ runtime: { artifactType: 'text/markdown' } });
}

async function splitBrain(c) {
  const task = await c.send('slow please', { skill: SKILL, now: true });
  await c.order({ card: 'retired' });
  const seen = await c.look();
  c.event({
    event: 'a2a.task.state',
    'service.name': 'orchestrator',
    'url.full': `${c.base}/a2a`,
    'a2a.task.id': task.id,
    'a2a.task.state': 'failed',
    'a2a.observer': 'client',
    'a2a.local': true,
    'a2a.reason': 'skill_not_advertised',
    'a2a.skill.id': SKILL,
  });
  c.step(
    's13',
    'FAULT split brain: server still works on it, client refetched the card, skill gone, client says failed (js.events)',
    { task: task.id, state: stateName(task), skills: seen.skills.map((s) => s.id) },
  );
  await pause(1300);
  const end = await c.get(task.id);
  c.step('s13a', 'FAULT server later says', { task: task.id, state: stateName(end) });
}

async function restart(c) {
  const task = await c.send('ask please', { skill: SKILL });
  c.step('s14', 'task left in input-required', { task: task.id, ctx: task.contextId, state: stateName(task) });
  const other = await failure(c.send('three lines', { taskId: task.id, contextId: 'another-context' }));
  c.step('s14x', 'message to it under another context: refused', { task: task.id, err: other });
  await c.order({ restart: true });
  c.step('s14a', 'FAULT server restarted, in-memory task lost');
  c.step('s14b', 'FAULT orphan: get answers task not found', { task: task.id, err: await failure(c.get(task.id)) });
  c.step('s14c', 'FAULT follow-up to the lost task', {
    task: task.id,
    err: await failure(c.send('three lines', { taskId: task.id, contextId: task.contextId })),
  });
}

async function twoDialects(c) {
  const task = await c.send('ask please', { skill: SKILL });
  c.step('s12', 'created over 0.3: input-required', { task: task.id, ctx: task.contextId, state: stateName(task) });
  const legacy = c.sdk;
  await legacy.createTaskPushNotificationConfig(c.pushConfig({ id: 'cfg-03', taskId: task.id, token: 'throwaway-token-03' }));
  await c.connect();
  await c.sdk.createTaskPushNotificationConfig(
    c.pushConfig({ id: 'cfg-10', taskId: task.id, credentials: 'throwaway-bearer-10' }),
  );
  const seen = await c.get(task.id);
  c.step('s12a', 'the same task read over 1.0', { task: task.id, state: stateName(seen) });
  const resumed = await c.send('three lines', { taskId: task.id, contextId: task.contextId });
  await pause(150);
  c.step('s12b', 'resumed over 1.0, pushed to one url in both dialects (cfg-03 with token, cfg-10 with Authorization)', {
    task: task.id,
    state: stateName(resumed),
  });
  c.sdk = legacy;
  const read = await c.get(task.id);
  c.step('s12c', 'read over 0.3 again', { task: task.id, state: stateName(read) });
}

const tracesFrom = (c) => c.keepTraces(true);
const tracesTo = (c) => c.keepTraces(false);

/** run -> for each binding, its steps in order. */
export const RUNS = {
  js: [
    [
      'JSONRPC',
      [
        cards,
        legacyShape,
        blocking,
        data,
        rejected,
        streaming,
        reads,
        list,
        nonBlocking,
        policy,
        pushInline,
        pushByMethod,
        tracesFrom,
        storm,
        staleCard,
        tracesTo,
        refetch,
        otherMode,
        errors,
        crashes,
        rpcErrors,
        splitBrain,
        restart,
      ],
    ],
  ],
  jsrest: [
    [
      'HTTP+JSON',
      [
        cards,
        blocking,
        data,
        streaming,
        reads,
        list,
        extended,
        nonBlocking,
        pushByMethod,
        staleCard,
        refetch,
        restored,
        lookAgain,
        fewErrors,
        restErrors,
        restart,
      ],
    ],
  ],
  js03: [
    [
      'JSONRPC',
      [
        legacyCard,
        blocking,
        data,
        streaming,
        reads,
        nonBlocking,
        pushInline,
        pushByMethod,
        twoDialects,
        (c) => staleCard(c, { streams: false }),
        refetchLegacy,
        restored,
        fewErrors,
        legacyErrors,
      ],
    ],
    ['HTTP+JSON', [legacyCard, blocking, streaming, reads, fewErrors]],
  ],
};
