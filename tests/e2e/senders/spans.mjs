// Delivers spans with the JavaScript exporter, each of a call of its own to an agent: node spans.mjs ADDRESS NAME COUNT
// Prints how many were exported. Runs where the packages of tests/tools/js-sdk are.
import { createRequire } from 'node:module';

const packages = createRequire(process.cwd() + '/');
const { OTLPTraceExporter } = packages('@opentelemetry/exporter-trace-otlp-http');
const { resourceFromAttributes } = packages('@opentelemetry/resources');
const { BatchSpanProcessor, NodeTracerProvider } = packages('@opentelemetry/sdk-trace-node');
const { SpanKind } = packages('@opentelemetry/api');

const [address, name, count] = [process.argv[2], process.argv[3], Number(process.argv[4])];
// A flush sends all batches at once: so often that they are a few.
const flushEvery = 4096;
const concurrencyLimit = flushEvery / 512 + 2;
const exporter = new OTLPTraceExporter({ url: `${address}/v1/traces`, timeoutMillis: 300000, concurrencyLimit });
let delivered = 0;
let failed = 0;
const counting = {
  export(spans, done) {
    exporter.export(spans, (result) => {
      if (result.code === 0) delivered += spans.length;
      else failed += spans.length;
      if (result.error) console.error(String(result.error));
      done(result);
    });
  },
  forceFlush: () => exporter.forceFlush(),
  shutdown: () => exporter.shutdown(),
};
const processor = new BatchSpanProcessor(counting, {
  maxQueueSize: count + 1,
  maxExportBatchSize: 512,
  scheduledDelayMillis: 100,
  exportTimeoutMillis: 600000,
});
const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ 'service.name': name }),
  // For all of them together; its default is for what a program has left at its end.
  forceFlushTimeoutMillis: 600000,
  spanProcessors: [processor],
});
const tracer = provider.getTracer('e2e');
for (let number = 0; number < count; number += 1) {
  const span = tracer.startSpan('GetTask', {
    kind: SpanKind.CLIENT,
    attributes: {
      'a2a.method.name': 'GetTask',
      'a2a.task.id': `${name}-${number}`,
      'a2a.task.state': 'TASK_STATE_WORKING',
      'server.address': `${name}.example`,
      'server.port': 443,
    },
  });
  span.end();
  if (number % flushEvery === flushEvery - 1) await provider.forceFlush();
}
await provider.forceFlush();
await provider.shutdown();
if (failed) {
  console.error(`${failed} spans could not be exported`);
  process.exit(1);
}
console.log(delivered);
