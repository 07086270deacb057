// Prints the spans of scenario.otlp.jsonl (made by export.py) with JavaScript's ConsoleSpanExporter.
//
//     npm ci && node console.mjs ../../formats/traces/scenario.otlp.jsonl > ../../formats/traces/js.console.txt
import { readFileSync } from 'node:fs';
import { ConsoleSpanExporter } from '@opentelemetry/sdk-trace-base';

const value = (any) => {
  const [[kind, inner]] = Object.entries(any);
  if (kind === 'intValue') return Number(inner);
  return kind === 'arrayValue' ? (inner.values ?? []).map(value) : inner;
};
const attributes = (pairs) => Object.fromEntries((pairs ?? []).map((pair) => [pair.key, value(pair.value)]));
const time = (nanos) => [Number(BigInt(nanos) / 1_000_000_000n), Number(BigInt(nanos) % 1_000_000_000n)];

const exporter = new ConsoleSpanExporter();
for (const line of readFileSync(process.argv[2], 'utf8').trim().split('\n')) {
  for (const { resource, scopeSpans } of JSON.parse(line).resourceSpans) {
    for (const { scope, spans } of scopeSpans) {
      const rebuilt = spans.map((span) => ({
        resource: { attributes: attributes(resource.attributes) },
        instrumentationScope: { name: scope.name, version: scope.version, schemaUrl: undefined },
        spanContext: () => ({ traceId: span.traceId, spanId: span.spanId, traceFlags: 1 }),
        parentSpanContext: span.parentSpanId && { traceId: span.traceId, spanId: span.parentSpanId, traceFlags: 1 },
        name: span.name,
        kind: (span.kind ?? 1) - 1,
        startTime: time(span.startTimeUnixNano),
        duration: time(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)),
        attributes: attributes(span.attributes),
        status: { code: span.status?.code ?? 0, ...(span.status?.message && { message: span.status.message }) },
        events: (span.events ?? []).map((event) => ({
          name: event.name,
          attributes: attributes(event.attributes),
          time: time(event.timeUnixNano),
          droppedAttributesCount: 0,
        })),
        links: [],
      }));
      exporter.export(rebuilt, () => {});
    }
  }
}
