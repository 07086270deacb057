// The agent `summary-agent`. In: A2A on a hidden loopback port (the proxy stands before it) and orders of the driver over
// IPC ({card}, {runtime}, {flush}, {stop}). Out: tasks that behave as the first word of the message says.
import express from 'express';
import { TaskState, Role } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { createLegacyAwarePushNotificationSender } from '@a2a-js/sdk/compat/v0_3/server';
import { card } from './card.mjs';
import { predictableIds } from './ids.mjs';

const { LISTEN, PUBLIC_PORT, LEGACY, LIFE } = process.env;
predictableIds(`${PUBLIC_PORT}:agent:${LIFE}`);
const legacy = LEGACY === '1';
const place = { port: PUBLIC_PORT, legacy };
const agentCard = card({ variant: 'base', ...place });
/** What the runtime really does, whatever the card says. */
const runtime = { skills: ['summarize-v2'], artifactType: 'text/markdown' };

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const text = (value, mediaType = 'text/plain') => ({
  content: { $case: 'text', value },
  mediaType,
  filename: '',
  metadata: undefined,
});

class Executor {
  canceled = new Set();

  async execute(context, bus) {
    const { taskId, contextId, userMessage, task } = context;
    const say = (state, words) =>
      bus.publish(
        AgentEvent.statusUpdate({
          taskId,
          contextId,
          metadata: undefined,
          status: {
            state,
            timestamp: new Date().toISOString(),
            message: words && this.message(taskId, contextId, words),
          },
        }),
      );
    const give = (artifactId, parts, more = {}) =>
      bus.publish(
        AgentEvent.artifactUpdate({
          taskId,
          contextId,
          append: false,
          lastChunk: true,
          metadata: undefined,
          ...more,
          artifact: { artifactId, name: 'summary', description: '', parts, metadata: undefined, extensions: [] },
        }),
      );
    const words = userMessage.parts.map((part) => part.content?.value).join(' ');
    if (!task) {
      bus.publish(
        AgentEvent.task({
          id: taskId,
          contextId,
          artifacts: [],
          history: [userMessage],
          metadata: undefined,
          status: { state: TaskState.TASK_STATE_SUBMITTED, timestamp: new Date().toISOString(), message: undefined },
        }),
      );
    }
    await pause(2);
    const skill = userMessage.metadata?.skillId;
    if (skill && !runtime.skills.includes(skill)) {
      say(TaskState.TASK_STATE_FAILED, `unknown skill: ${skill}`);
      return;
    }
    if (words.startsWith('crash')) throw new Error('summariser is out of memory');
    await this.behave(words, { taskId, say, give });
  }

  async behave(words, { taskId, say, give }) {
    const done = () => say(TaskState.TASK_STATE_COMPLETED);
    switch (words.split(' ')[0]) {
      case 'reject':
        say(TaskState.TASK_STATE_REJECTED, 'the text is longer than my limit');
        return;
      case 'ask':
        say(TaskState.TASK_STATE_INPUT_REQUIRED, 'how long may the summary be?');
        return;
      case 'data':
        say(TaskState.TASK_STATE_WORKING);
        give('art-d', [
          {
            content: { $case: 'data', value: { sentences: 3 } },
            mediaType: 'application/json',
            filename: '',
            metadata: undefined,
          },
        ]);
        done();
        return;
      case 'stream':
        say(TaskState.TASK_STATE_WORKING, 'working on it');
        for (const [i, part] of ['# Summary\n', '- fine\n', '- end\n'].entries()) {
          await pause(30);
          give('art-1', [text(part, runtime.artifactType)], { append: i > 0, lastChunk: i === 2 });
        }
        done();
        return;
      case 'slow':
        say(TaskState.TASK_STATE_WORKING, 'this takes a while');
        for (let i = 0; i < 50; i++) {
          await pause(20);
          if (this.canceled.has(taskId)) {
            say(TaskState.TASK_STATE_CANCELED);
            return;
          }
        }
        break;
      case 'push':
        await pause(60);
        say(TaskState.TASK_STATE_WORKING);
        await pause(20);
        break;
      default:
        say(TaskState.TASK_STATE_WORKING);
    }
    give('art-1', [text('# Summary\nall fine\n', runtime.artifactType)]);
    done();
  }

  async cancelTask(taskId) {
    this.canceled.add(taskId);
  }

  message(taskId, contextId, words) {
    return {
      messageId: crypto.randomUUID(),
      taskId,
      contextId,
      role: Role.ROLE_AGENT,
      parts: [text(words)],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
  }
}

const pushStore = new InMemoryPushNotificationStore();
const requestHandler = new DefaultRequestHandler(
  agentCard,
  new InMemoryTaskStore(),
  new Executor(),
  undefined,
  pushStore,
  createLegacyAwarePushNotificationSender(pushStore),
  async () => ({ ...agentCard, description: 'Extended card for signed-in callers.' }),
);
const options = {
  requestHandler,
  userBuilder: UserBuilder.noAuthentication,
  ...(legacy ? { legacyCompat: { enabled: true } } : {}),
};
const app = express();
app.use(
  '/.well-known/agent-card.json',
  agentCardHandler({ agentCardProvider: requestHandler, legacyCompat: options.legacyCompat }),
);
app.use('/a2a', jsonRpcHandler(options));
app.use('/rest', restHandler(options));

process.on('message', async (order) => {
  if (order.card) Object.assign(agentCard, card({ variant: order.card, ...place }));
  if (order.runtime) Object.assign(runtime, order.runtime);
  if (order.stop || order.flush) await globalThis.flushTraces();
  process.send({ done: order.seq });
  if (order.stop) process.exit(0);
});
process.on('disconnect', () => process.exit(0));
app.listen(Number(LISTEN), '127.0.0.1', () => process.send({ ready: true }));
