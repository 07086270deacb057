// The agent's cards. In: a variant and where the agent is reached. Out: a card in the shape the SDK's types demand
// (AgentCard of @a2a-js/sdk 1.3.0), all of version 1.0.0.

const SUMMARIZE = {
  id: 'summarize-v2',
  name: 'Summarise',
  description: 'Summarise a text.',
  tags: ['summary'],
  examples: [],
  inputModes: ['text/plain'],
  outputModes: ['text/markdown'],
  securityRequirements: [],
};
const TRANSLATE = {
  id: 'translate-v1',
  name: 'Translate',
  description: 'Translate a text.',
  tags: ['translation'],
  examples: [],
  inputModes: ['text/plain'],
  outputModes: ['text/plain'],
  securityRequirements: [],
};
const NEEDS_BEARER = [{ schemes: { bearer: { list: [] } } }];

const SKILLS = {
  base: [SUMMARIZE],
  policy: [{ ...SUMMARIZE, securityRequirements: NEEDS_BEARER }],
  retired: [TRANSLATE],
  redefined: [{ ...SUMMARIZE, outputModes: ['text/plain'] }],
};

/** `legacy`: the agent also speaks 0.3 and says so. */
export function card({ variant, port, legacy, description = 'Summarises and translates text.' }) {
  const bindings = [
    [`http://127.0.0.1:${port}/a2a`, 'JSONRPC'],
    [`http://127.0.0.1:${port}/rest`, 'HTTP+JSON'],
  ];
  const supportedInterfaces = (legacy ? ['1.0', '0.3'] : ['1.0']).flatMap((protocolVersion) =>
    bindings.map(([url, protocolBinding]) => ({ url, protocolBinding, tenant: '', protocolVersion })),
  );
  return {
    name: 'Summary Agent',
    description,
    supportedInterfaces,
    provider: undefined,
    version: '1.0.0',
    documentationUrl: undefined,
    capabilities: { streaming: true, pushNotifications: true, extensions: [], extendedAgentCard: true },
    securitySchemes: {
      bearer: {
        scheme: { $case: 'httpAuthSecurityScheme', value: { description: '', scheme: 'Bearer', bearerFormat: '' } },
      },
    },
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: SKILLS[variant],
    signatures: [],
    iconUrl: undefined,
  };
}
