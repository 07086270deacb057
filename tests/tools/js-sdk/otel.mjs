// Loaded with --import before anything else. In: TRACES_TO (an OTLP/HTTP url) and SERVICE_NAME. Out: spans of node:http
// and of fetch, sent by the JavaScript exporter. The A2A SDK itself emits no spans. Without TRACES_TO it does nothing.
import module from 'node:module';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { resourceFromAttributes, defaultResource } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

if (process.env.TRACES_TO) {
  module.register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);
  const provider = new NodeTracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({ 'service.name': process.env.SERVICE_NAME, 'service.version': '1.0.0' }),
    ),
    spanProcessors: [
      new BatchSpanProcessor(new OTLPTraceExporter({ url: process.env.TRACES_TO }), { scheduledDelayMillis: 2000 }),
    ],
  });
  provider.register();
  registerInstrumentations({ instrumentations: [new HttpInstrumentation(), new UndiciInstrumentation()] });
  globalThis.flushTraces = () => provider.forceFlush();
} else {
  globalThis.flushTraces = async () => {};
}
