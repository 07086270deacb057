// Step s11: what the agent refuses, in every dialect and binding. In: a Caller of client.mjs. Out: nothing but what it does.
import { failure, stateName } from './client.mjs';

const SKILL = 'summarize-v2';
const rpc = (method, params, id = 900) => ({ jsonrpc: '2.0', id, method, params });

export async function errors(c) {
  const task = await c.send('summarise please', { skill: SKILL });
  const found = [
    ['get unknown', await failure(c.get('no-such-task'))],
    ['cancel unknown', await failure(c.cancel('no-such-task'))],
    ['cancel terminal', await failure(c.cancel(task.id))],
    ['send to terminal task (id reuse)', await failure(c.send('once more', { taskId: task.id, contextId: task.contextId }))],
    ['client-made task id', await failure(c.send('mine', { taskId: 'client-made-task-id-1' }))],
    ['subscribe unknown', await failure(c.subscribe('no-such-task'))],
    ['subscribe terminal', await failure(c.subscribe(task.id))],
  ];
  c.step('s11', 'protocol errors', { task: task.id, errors: found });
}

export async function fewErrors(c) {
  const task = await c.send('summarise please', { skill: SKILL });
  c.step('s11', 'protocol errors', {
    task: task.id,
    errors: [
      ['get unknown', await failure(c.get('no-such-task'))],
      ['cancel terminal', await failure(c.cancel(task.id))],
      [
        'send to terminal task (id reuse)',
        await failure(c.send('once more', { taskId: task.id, contextId: task.contextId })),
      ],
      ['subscribe unknown', await failure(c.subscribe('no-such-task'))],
    ],
  });
}

export async function crashes(c) {
  const crashed = await c.send('crash please', { skill: SKILL });
  c.step('s11b', 'agent exception, blocking: this SDK answers a failed task', {
    task: crashed.id,
    state: stateName(crashed),
  });
  c.step(
    's11c',
    'agent exception, streaming: a failed status update, no error event',
    await c.stream('crash please', { skill: SKILL }),
  );
}

export async function rpcErrors(c) {
  const say = async (what, init) => [what, (await c.raw('/a2a', init)).json?.error];
  c.step('s11d', 'JSON-RPC errors by hand', {
    errors: [
      await say('unknown method', { version: '1.0', body: rpc('tasks/frobnicate', {}) }),
      await say('0.1 method name under 1.0', {
        version: '1.0',
        body: rpc('tasks/send', { id: 'x', message: { role: 'user', parts: [] } }),
      }),
      await say('wrong version', { version: '9.9', body: rpc('GetTask', { id: 'no-such-task' }) }),
      await say('bad JSON', { version: '1.0', body: '{"jsonrpc": "2.0", "method":' }),
      await say('bad params', { version: '1.0', body: rpc('SendMessage', {}) }),
    ],
  });
}

export async function restErrors(c) {
  const say = async (what, path, init) => {
    const { status, json } = await c.raw(path, init);
    return [what, status, json?.error ?? null];
  };
  c.step('s11d', 'REST errors by hand', {
    errors: [
      await say('unknown path', '/rest/nope', { method: 'GET', version: '1.0' }),
      await say('no version', '/rest/tasks/no-such-task', { method: 'GET' }),
      await say('wrong version', '/rest/tasks/no-such-task', { method: 'GET', version: '9.9' }),
      await say('bad JSON', '/rest/message:send', { version: '1.0', body: '{"message":' }),
      await say('bad params', '/rest/message:send', { version: '1.0', body: {} }),
    ],
  });
}

export async function legacyErrors(c) {
  const say = async (what, init) => [what, (await c.raw('/a2a', init)).json?.error];
  c.step('s11d', 'JSON-RPC errors by hand', {
    errors: [
      await say('unknown method', { body: rpc('tasks/frobnicate', {}) }),
      await say('0.1 method name', { body: rpc('tasks/send', { id: 'x', message: { role: 'user', parts: [] } }) }),
      await say('1.0 method name without A2A-Version', { body: rpc('GetTask', { id: 'no-such-task' }) }),
      await say('0.3 method name under 1.0', { version: '1.0', body: rpc('tasks/get', { id: 'no-such-task' }) }),
      await say('wrong version', { version: '9.9', body: rpc('message/send', {}) }),
    ],
  });
}
